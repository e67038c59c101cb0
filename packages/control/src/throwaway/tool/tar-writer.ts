import { blockBytes, type Member, padded } from "./tar-reader.ts";

/** A member of our own, which holds text or a list: its header and content, padded. Its name fits in a header. */
export const ownMember = (name: string, content: Buffer): Buffer => {
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0, 100, "latin1");
  header.write("0000600\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  sign(header);
  return Buffer.concat([header, content, Buffer.alloc(padded(content.length) - content.length)]);
};

/** What of an archive follows its last member. */
export const endMark: Buffer = Buffer.alloc(2 * blockBytes);

/** The head of a member as it would be without setuid and setgid. */
export const withoutSetBits = ({ head, mode }: Member): Buffer => {
  const changed = Buffer.from(head);
  const header = changed.subarray(changed.length - blockBytes);
  header.write(`${(mode & 0o1777).toString(8).padStart(7, "0")}\0`, 100);
  sign(header);
  return changed;
};

const sign = (header: Buffer): void => {
  header.write("        ", 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
};
