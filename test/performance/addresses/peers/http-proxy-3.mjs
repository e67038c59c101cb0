/** usage: http-proxy-3.mjs <directory of its modules> <upstream.sock> <port> */
import { Agent, createServer } from "node:http";
import { createRequire } from "node:module";
import { connect } from "node:net";

const [modules, socketPath, port] = process.argv.slice(2);
const { createProxyServer } = createRequire(`${modules}/x.js`)("http-proxy-3");
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
agent.createConnection = () => connect(socketPath);
const proxy = createProxyServer({ target: "http://app", agent, xfwd: true });
proxy.on("error", (_error, _request, response) => response.destroy?.());
createServer((request, response) => proxy.web(request, response)).listen(Number(port), "127.0.0.1", () =>
  process.send?.("ready"),
);
process.on("disconnect", () => process.exit(0));
