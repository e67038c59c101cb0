/** usage: fastify-http-proxy.mjs <directory of its modules> <upstream.sock> <port> */
import { createRequire } from "node:module";

const [modules, socketPath, port] = process.argv.slice(2);
const load = createRequire(`${modules}/x.js`);
const fastify = load("fastify")();
fastify.register(load("@fastify/http-proxy"), {
  upstream: `unix+http://${encodeURIComponent(socketPath)}`,
  undici: { connections: 256, pipelining: 1, keepAliveTimeout: 60_000 },
});
await fastify.listen({ port: Number(port), host: "127.0.0.1" });
process.send?.("ready");
process.on("disconnect", () => process.exit(0));
