import { overrides } from "../head/names.ts";
import { inChunks, type RequestHead } from "../head/request.ts";

/** What the gateway tells an app of a visit. */
export interface Told {
  /** The visitor's address. */
  readonly from: string;
  readonly scheme: "http" | "https";
  /** Let in by a rule about some methods or paths: nothing may make the app take others. */
  readonly narrow: boolean;
}

/** The head of a request as the app gets it: the visitor's own lines as they came, and ours after them. */
export const writeQuestion = (head: RequestHead, told: Told): string => {
  let text = `${head.method} ${head.target} HTTP/1.1\r\nHost: ${head.hostHeader}\r\n`;
  for (const { name, line } of head.fields) {
    if (told.narrow && overrides.has(name)) continue;
    text += `${line}\r\n`;
  }
  if (head.bodyBytes === inChunks) text += "Transfer-Encoding: chunked\r\n";
  if (head.webSocket) text += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  return `${text}X-Forwarded-For: ${told.from}\r\nX-Forwarded-Proto: ${told.scheme}\r\nX-Forwarded-Host: ${head.hostHeader}\r\n\r\n`;
};

/** Whether asking twice is as good as once: what may be asked again when a kept connection turns out to be closed. */
export const mayBeRepeated = (head: RequestHead): boolean =>
  head.bodyBytes === 0 && !head.webSocket && idempotent.has(head.method);

const idempotent: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
