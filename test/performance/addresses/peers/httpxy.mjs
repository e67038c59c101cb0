/** usage: httpxy.mjs <directory of its modules> <upstream.sock> <port> */
import { Agent, createServer } from "node:http";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { pathToFileURL } from "node:url";

const [modules, socketPath, port] = process.argv.slice(2);
const { createProxyServer } = await import(pathToFileURL(createRequire(`${modules}/x.js`).resolve("httpxy")));
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
agent.createConnection = () => connect(socketPath);
const proxy = createProxyServer({ target: "http://app", agent, xfwd: true });
createServer((request, response) => {
  proxy.web(request, response).catch(() => response.destroy());
}).listen(Number(port), "127.0.0.1", () => process.send?.("ready"));
process.on("disconnect", () => process.exit(0));
