import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Documents as files of one folder, each JSON, called by an id that sorts by time. The newest `keep` stay. */
export class Shelf {
  constructor(folder, keep) {
    this.folder = folder;
    this.keep = keep;
    mkdirSync(folder, { recursive: true });
  }

  /** Whole at every moment: written beside, then renamed. One that was there is replaced. */
  put(id, document) {
    const file = join(this.folder, `${id}.json`);
    writeFileSync(`${file}.new`, `${JSON.stringify(document, null, 2)}\n`);
    renameSync(`${file}.new`, file);
    for (const old of this.ids().slice(this.keep)) rmSync(join(this.folder, `${old}.json`), { force: true });
  }

  /** Undefined when there is none; an id that is not one of ours is none either. */
  get(id) {
    if (!idPattern.test(id)) return undefined;
    try {
      return JSON.parse(readFileSync(join(this.folder, `${id}.json`), "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Documents, the newest first. */
  newest(count) {
    return this.ids()
      .slice(0, count)
      .map((id) => this.get(id))
      .filter(Boolean);
  }

  /** The ids before and after, each undefined at its end of the shelf. */
  beside(id) {
    const ids = this.ids();
    const at = ids.indexOf(id);
    return { newer: ids[at - 1], older: ids[at + 1] };
  }

  /** The newest first. */
  ids() {
    return readdirSync(this.folder)
      .filter((name) => name.endsWith(".json"))
      .map((name) => name.slice(0, -".json".length))
      .filter((id) => idPattern.test(id))
      .sort()
      .reverse();
  }
}

const idPattern = /^[0-9]{4}-[0-9a-z-]{2,10}$/;
