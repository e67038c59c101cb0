type TomlValue = string | readonly string[] | Readonly<Record<string, string>>;

/** A table with text, lists of text and inner tables of text: all that a client's entry needs. */
export const tomlTable = (path: readonly string[], values: Readonly<Record<string, TomlValue>>): string => {
  const lines = Object.entries(values).map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value)}\n`);
  return `[${path.map(tomlKey).join(".")}]\n${lines.join("")}`;
};

const tomlKey = (key: string): string => (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key));

const tomlValue = (value: TomlValue): string => {
  // JSON's escapes are a subset of a basic string's.
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value))
    return `[${(value as readonly string[]).map((item) => JSON.stringify(item)).join(", ")}]`;
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${tomlKey(key)} = ${JSON.stringify(item)}`)
    .join(", ")} }`;
};

/**
 * Replaces the table (with its sub-tables), or adds it at the end; every other byte stays. Undefined when the text cannot be followed with
 * certainty, or when the table is declared in another form (inline, dotted, quoted): then only a person should change it.
 */
export const replaceTomlTable = (
  text: string,
  path: readonly string[],
  table: string,
): string | undefined => {
  const statements = split(text);
  if (statements === undefined) return undefined;
  const kept: string[] = [];
  let inside = false;
  let header: readonly string[] = [];
  let place: number | undefined;
  for (const statement of statements) {
    if (statement.kind === "header") {
      header = statement.path;
      inside = path.every((name, index) => header[index] === name);
      if (inside && (statement.list || (place !== undefined && header.length === path.length)))
        return undefined;
      if (inside) place ??= kept.length;
    }
    // `mcp_servers.x = …`, or `x = {…}` under `[mcp_servers]`: the same table in another form.
    if (statement.kind === "value" && !inside && reaches([...header, ...statement.path], path))
      return undefined;
    // Comments and blank lines before the next header belong to what follows; those in between go with the table.
    if (!inside) kept.push(statement.text);
  }
  const at = place ?? kept.length;
  const before = kept.slice(0, at).join("");
  const after = kept.slice(at).join("");
  const gap = before === "" || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n";
  return `${before}${gap}${table}${after === "" || after.startsWith("\n") ? "" : "\n"}${after}`;
};

/** Whether a key declares the table or something that holds it. */
const reaches = (key: readonly string[], path: readonly string[]): boolean =>
  key.slice(0, path.length).every((name, index) => path[index] === name);

type Statement =
  | {
      readonly kind: "header";
      readonly path: readonly string[];
      readonly list: boolean;
      readonly text: string;
    }
  | { readonly kind: "value"; readonly path: readonly string[]; readonly text: string }
  | { readonly kind: "space"; readonly text: string };

/** The text as statements, each with its own bytes; undefined for what is no TOML or more than is known here. */
const split = (text: string): readonly Statement[] | undefined => {
  const statements: Statement[] = [];
  let at = 0;
  while (at < text.length) {
    const line = lineAt(text, at);
    if (/^\s*(#.*)?$/.test(line.replace(/\r?\n$/, ""))) {
      statements.push({ kind: "space", text: line });
      at += line.length;
      continue;
    }
    const header = /^\s*(\[\[?)\s*(.*?)\s*(\]\]?)\s*(#.*)?\r?\n?$/.exec(line);
    if (header) {
      const path = keyPath(header[2] ?? "");
      if (path === undefined || header[1]?.length !== header[3]?.length) return undefined;
      statements.push({ kind: "header", path, list: header[1] === "[[", text: line });
      at += line.length;
      continue;
    }
    const end = valueEnd(text, at);
    const path = keyPath(/^\s*((?:[A-Za-z0-9_-]+|"[^"\\\n]*"|'[^'\n]*'|[ \t.])+?)\s*=/.exec(line)?.[1] ?? "");
    if (end === undefined || path === undefined) return undefined;
    statements.push({ kind: "value", path, text: text.slice(at, end) });
    at = end;
  }
  return statements;
};

const lineAt = (text: string, at: number): string => {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.slice(at) : text.slice(at, end + 1);
};

const keyPath = (text: string): readonly string[] | undefined => {
  const part = /\s*(?:([A-Za-z0-9_-]+)|"([^"\\\n]*)"|'([^'\n]*)')\s*(\.|$)/y;
  const names: string[] = [];
  while (part.lastIndex < text.length || names.length === 0) {
    const match = part.exec(text);
    if (!match) return undefined;
    names.push(match[1] ?? match[2] ?? match[3] ?? "");
    if (match[4] === "" && part.lastIndex >= text.length) return names;
  }
  return undefined;
};

/** Where the statement `key = value` that begins here ends, after its line break: strings and brackets may span lines. */
const valueEnd = (text: string, from: number): number | undefined => {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at] ?? "";
    if (character === '"' || character === "'") {
      const end = stringEnd(text, at, character);
      if (end === undefined) return undefined;
      at = end - 1;
    } else if (character === "#") at = text.indexOf("\n", at) < 0 ? text.length : text.indexOf("\n", at) - 1;
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
    else if (character === "\n" && depth === 0) return at + 1;
    if (depth < 0) return undefined;
  }
  return depth === 0 ? text.length : undefined;
};

const stringEnd = (text: string, from: number, quote: string): number | undefined => {
  const long = text.startsWith(quote.repeat(3), from);
  const close = long ? quote.repeat(3) : quote;
  for (let at = from + close.length; at < text.length; at += 1) {
    if (quote === '"' && text[at] === "\\") at += 1;
    else if (text.startsWith(close, at)) {
      // Up to two more quotes may stand right before a long string's end.
      while (long && text.startsWith(close, at + 1)) at += 1;
      return at + close.length;
    } else if (!long && text[at] === "\n") return undefined;
  }
  return undefined;
};
