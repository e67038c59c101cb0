/**
 * The app behind the addresses that are attacked: it remembers each request as it came and says what it is told to, to the byte.
 * `/seen` shows what came, and is not remembered itself.
 */
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const seen = [];
const streams = new Set();
const held = [];
const remembered = 2000;

const routes = {
  "/seen": (_request, response) => response.end(JSON.stringify(seen)),

  /** Bytes as they are, whatever they say, on the connection of this request. */
  "/say": (request, _response, query) => request.socket.write(Buffer.from(query.get("b"), "base64url")),

  /** A page with headers of the visitor's choice: `h` is a JSON list of [name, value]. */
  "/page": (_request, response, query) => {
    for (const [name, value] of JSON.parse(query.get("h") ?? "[]")) response.appendHeader(name, value);
    if (!response.hasHeader("content-type")) response.setHeader("content-type", "text/html");
    response.end(query.get("b") ?? "<!doctype html><title>page</title><p>page</p>");
  },

  "/sse": (_request, response) => {
    response.setHeader("content-type", "text/event-stream");
    response.flushHeaders();
    follow(response, (text) => response.write(`data: ${text}\n\n`));
  },
  "/chunks": (_request, response) => {
    response.write("first ");
    follow(response, (text) => response.write(text));
  },
  /** Tells every open stream, and lets go what is held. */
  "/emit": (_request, response, query) => {
    for (const tell of streams) tell(query.get("text") ?? "");
    for (const go of held.splice(0)) go();
    response.end(String(streams.size));
  },

  "/down": (_request, response, query) => {
    let left = Number(query.get("bytes"));
    response.setHeader("content-length", left);
    const more = () => {
      while (left > 0) {
        const piece = block.subarray(0, Math.min(left, block.length));
        left -= piece.length;
        if (!response.write(piece)) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  },
  /** Does not read a byte of the body until it is told by `/emit`, then answers what it was. */
  "/held": (request, response) => {
    request.pause();
    held.push(() => {
      const hash = createHash("sha256");
      let bytes = 0;
      request.on("data", (piece) => {
        bytes += piece.length;
        hash.update(piece);
      });
      request.on("end", () => response.end(JSON.stringify({ bytes, hash: hash.digest("hex") })));
      request.resume();
    });
  },
};

const block = Buffer.alloc(64 * 1024, "0123456789abcdef");

const follow = (response, tell) => {
  streams.add(tell);
  response.on("close", () => streams.delete(tell));
};

const server = createServer({ requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://app");
  remember(request);
  const route = routes[pathname];
  if (route) return route(request, response, searchParams);
  let body = "";
  request.setEncoding("latin1").on("data", (text) => (body += text));
  request.on("end", () => {
    response.setHeader("content-type", "application/json");
    const { method, url, rawHeaders, rawTrailers } = request;
    response.end(
      JSON.stringify({ app: process.env.APP, method, url, headers: rawHeaders, trailers: rawTrailers, body }),
    );
  });
});

const remember = ({ method, url, rawHeaders }) => {
  if (url === "/seen") return;
  seen.push({ method, url, headers: rawHeaders });
  if (seen.length > remembered) seen.shift();
};

/** A WebSocket that sends back what it gets, in frames as they came but for the mask. */
server.on("upgrade", (request, socket) => {
  remember(request);
  const accept = createHash("sha1")
    .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest("base64");
  socket.on("error", () => {});
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  socket.on("data", (frame) => {
    const length = frame[1] & 0x7f;
    const mask = frame.subarray(2, 6);
    const text = frame.subarray(6, 6 + length).map((byte, index) => byte ^ mask[index % 4]);
    if ((frame[0] & 0x0f) === 8) socket.end();
    else socket.write(Buffer.concat([Buffer.from([frame[0], length]), text]));
  });
});

server.listen(Number(process.env.PORT), "127.0.0.1");
