/**
 * On each of PORTS it answers who it is (TAG and the port) and what it was asked (the request's tag and what its body says), as long and
 * framed as the tag's number has it: bytes that reach somebody else's answer show.
 */
import { createServer } from "node:http";

const serve = (port) => (request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (text) => (body += text));
  request.on("end", () => {
    const tag = String(request.headers["x-tag"]);
    const text = `${process.env.TAG}:${port}|${tag}|${body}|${"~".repeat(Number(tag.split("-")[1]) % 3000)}`;
    if (Number(tag.split("-")[1]) % 2 === 0) response.setHeader("content-length", text.length);
    response.write(text.slice(0, 40));
    response.end(text.slice(40));
  });
};

for (const port of process.env.PORTS.split(",").map(Number))
  createServer({ keepAliveTimeout: 1000 + (port % 7) * 300 }, serve(port)).listen(port, "127.0.0.1");
