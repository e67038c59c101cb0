import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** A number that outlives the server: kept in `file`, whole at every moment. */
export const openCounter = (file) => {
  mkdirSync(dirname(file), { recursive: true });
  let value = read(file);
  return {
    get value() {
      return value;
    },
    increment() {
      value += 1;
      // Written beside and then renamed: a crash leaves the old number or the new one, never half a file.
      writeFileSync(`${file}.new`, JSON.stringify({ value }));
      renameSync(`${file}.new`, file);
    },
  };
};

const read = (file) => {
  try {
    return JSON.parse(readFileSync(file, "utf8")).value;
  } catch (error) {
    if (error.code === "ENOENT") return 0;
    throw error;
  }
};
