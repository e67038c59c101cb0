/**
 * The app behind every proxy of the bench, inside a cell. On PLAIN_PORT it answers every request with the same bytes, as cheaply as Node
 * can, so that a proxy is what is measured; on each of
 * RICH_PORTS it streams, sends much, and takes WebSockets.
 */
import { createHash } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";

const body = "x".repeat(128);
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);

const servePlain = (socket) => {
  let tail = "";
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    const text = tail + chunk.toString("latin1");
    const heads = text.split("\r\n\r\n");
    tail = heads.pop() ?? "";
    for (const _ of heads) socket.write(answer);
  });
};

const serveRich = (request, response) => {
  if (request.url === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: first\n\n");
    setTimeout(() => response.end(), 50);
    return;
  }
  if (request.url?.startsWith("/bytes/")) {
    const total = Number(request.url.slice("/bytes/".length));
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": total });
    const piece = Buffer.alloc(64 * 1024, "holdfast");
    let left = total;
    const send = () => {
      while (left > 0) {
        const part = left < piece.length ? piece.subarray(0, left) : piece;
        left -= part.length;
        if (!response.write(part) && left > 0) return void response.once("drain", send);
      }
      response.end();
    };
    send();
    return;
  }
  response.end("ready");
};

const upgrade = (request, socket) => {
  const accept = createHash("sha1")
    .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest("base64");
  socket.on("error", () => socket.destroy());
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  // Whatever comes goes back: a frame of a client is masked, which no one here looks at.
  socket.pipe(socket);
};

for (const port of (process.env.RICH_PORTS ?? "").split(","))
  createHttpServer(serveRich).on("upgrade", upgrade).listen(Number(port), "127.0.0.1");
createServer({ noDelay: true }, servePlain).listen(Number(process.env.PLAIN_PORT), "127.0.0.1");
