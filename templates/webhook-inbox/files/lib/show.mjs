/** A body as text for people: JSON set out in lines, other text as it is, and what is no text as bytes. */
export const shown = (body) => {
  const text = textOf(body);
  if (text === undefined)
    return { kind: "Bytes", text: hex(body.subarray(0, hexBytes)), cut: body.length > hexBytes };
  const json = jsonOf(text);
  return {
    kind: json ? "JSON" : "Text",
    text: (json ?? text).slice(0, textLength),
    cut: (json ?? text).length > textLength,
  };
};

/** The beginning of a body in one line. */
export const preview = (body) => {
  // What is shown of a long body may end in the middle of a character.
  const text = textOf(body, { stream: true }) ?? body.toString("hex", 0, 32).replace(/../g, "$& ");
  return text.replace(/\s+/g, " ").trim().slice(0, 160);
};

export const sizeOf = (bytes) => (bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KB`);

export const timeOf = (date) =>
  `${date.getUTCDate()} ${date.toLocaleString("en", { month: "short", timeZone: "UTC" })} ${date.toISOString().slice(11, 19)}`;

const textLength = 300_000;
const hexBytes = 1024;

const textOf = (body, options) => {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body, options);
    return /[^\P{Cc}\s]/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
};

const jsonOf = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined;
  }
};

const hex = (bytes) =>
  Array.from({ length: Math.ceil(bytes.length / 16) }, (_, line) => {
    const row = bytes.subarray(line * 16, line * 16 + 16);
    const digits = row.toString("hex").replace(/../g, "$& ").padEnd(48);
    const text = row.toString("latin1").replace(/[^\x20-\x7e]/g, "·");
    return `${(line * 16).toString(16).padStart(4, "0")}  ${digits} ${text}`;
  }).join("\n");
