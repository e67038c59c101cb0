import { open, realpath } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { pipeline } from "node:stream/promises";

const types = {
  ".css": "text/css; charset=utf-8",
  ".gif": "image/gif",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".md": "text/markdown; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".webm": "video/webm",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
  ".xml": "application/xml",
};

/**
 * Answers a GET or HEAD with a file of `folder`; false when there is none for the path. `/` and `/notes/` are the `index.html` there,
 * `/about` is `about.html` too, and `/notes` leads to `/notes/`. Nothing outside the folder and no name that begins with a dot is ever
 * answered.
 */
export const sendFile = async ({ request, response, folder, path, status = 200 }) => {
  const file = await openFile(folder, path);
  if (!file) return false;
  try {
    if (file.name.endsWith("/index.html") && !path.endsWith("/") && !path.endsWith("/index.html")) {
      response.writeHead(308, { location: `${path}/` }).end();
      return true;
    }
    const { size, mtimeMs } = file.stats;
    const etag = `W/"${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}"`;
    response.setHeader("etag", etag);
    // Kept by browsers, but asked about each time: what is changed here is seen at once.
    response.setHeader("cache-control", "no-cache");
    if (status === 200 && isKnown(request.headers["if-none-match"], etag)) {
      response.writeHead(304).end();
      return true;
    }
    const type = types[extname(file.name).toLowerCase()] ?? "application/octet-stream";
    response.writeHead(status, { "content-type": type, "content-length": size });
    if (request.method === "HEAD" || size === 0) response.end();
    else await pipeline(file.handle.createReadStream({ end: size - 1, autoClose: false }), response);
    return true;
  } finally {
    await file.handle.close();
  }
};

const openFile = async (folder, path) => {
  const inside = await realpath(folder);
  for (const name of candidates(path)) {
    const real = await realpath(join(inside, name)).catch(() => undefined);
    // A link may lead anywhere, so what counts is where it ends.
    if (!real?.startsWith(inside + sep)) continue;
    const handle = await open(real);
    const stats = await handle.stat();
    if (stats.isFile()) return { name, handle, stats };
    await handle.close();
  }
  return undefined;
};

const candidates = (path) => {
  const name = decoded(path);
  if (name === undefined || /\0|\\|\/\/|\/\./.test(name)) return [];
  return name.endsWith("/") ? [`${name}index.html`] : [name, `${name}.html`, `${name}/index.html`];
};

const decoded = (path) => {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
};

const isKnown = (header, etag) =>
  header !== undefined && (header === "*" || header.split(",").some((one) => one.trim() === etag));
