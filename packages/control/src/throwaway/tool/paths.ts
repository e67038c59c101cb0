/**
 * Paths are bytes, and hostile ones are no UTF-8. Here each is a string with one character (0 to 255) for each byte: it compares as its bytes
 * do, and any set or table takes it.
 */
export type Path = string;

/** As system calls take it. */
export const bytesOf = (path: Path): Buffer => Buffer.from(path, "latin1");

export const pathOf = (bytes: Uint8Array): Path => Buffer.from(bytes).toString("latin1");

/** Of text, which is UTF-8 in every file system that people use. */
export const pathOfText = (text: string): Path => pathOf(Buffer.from(text, "utf8"));

/** For people. Bytes that are no UTF-8 become U+FFFD. */
export const shown = (path: Path): string => bytesOf(path).toString("utf8");

/** Undefined when it is no UTF-8. */
export const textOf = (path: Path): string | undefined => {
  const text = shown(path);
  return pathOfText(text) === path ? text : undefined;
};

/** What Linux takes in one system call, without the NUL. */
export const pathBytes = 4095;

/** Before another in the order in which trees are walked: by bytes, a directory before what is in it. */
export const isBefore = (one: Path, other: Path): boolean =>
  one.replaceAll("/", "\0") < other.replaceAll("/", "\0");
