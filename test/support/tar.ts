/** One entry of a ustar archive, as honest or dishonest as its fields. */
export const tarEntry = (entry: {
  readonly name: string;
  readonly type?: string;
  readonly content?: string;
  readonly target?: string;
  readonly mode?: number;
  readonly size?: number;
  readonly major?: number;
  readonly minor?: number;
}): Uint8Array => {
  const content = Buffer.from(entry.content ?? "");
  const head = Buffer.alloc(512);
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;
  head.write(entry.name, 0, 100, "utf8");
  head.write(octal(entry.mode ?? 0o644, 8), 100);
  head.write(octal(0, 8), 108);
  head.write(octal(0, 8), 116);
  head.write(octal(entry.size ?? content.length, 12), 124);
  head.write(octal(0, 12), 136);
  head.write("        ", 148);
  head.write(entry.type ?? "0", 156);
  head.write(entry.target ?? "", 157, 100, "utf8");
  head.write("ustar\u000000", 257);
  head.write(octal(entry.major ?? 0, 8), 329);
  head.write(octal(entry.minor ?? 0, 8), 337);
  head.write(
    `${octal(
      head.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
  );
  return Buffer.concat([head, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
};

export const tarOf = (...entries: readonly Uint8Array[]): Uint8Array =>
  Buffer.concat([...entries, Buffer.alloc(1024)]);
