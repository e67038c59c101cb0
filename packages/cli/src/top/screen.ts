import type { Console } from "../terminal/console.ts";

const keys = {
  up: ["\x1b[A", "\x1bOA", "k"],
  down: ["\x1b[B", "\x1bOB", "j"],
  pageUp: ["\x1b[5~", "b"],
  pageDown: ["\x1b[6~", " "],
  quit: ["q", "Q"],
  interrupt: ["\x03"],
} as const;

export type Key = keyof typeof keys;

/** The whole terminal for a while: a screen of its own, keys as they are pressed. `close` gives all of it back, whatever happened. */
export class Screen {
  readonly #console: Console;
  readonly #onKey: (key: Key) => void;
  readonly #onResize: () => void;
  #raw = false;

  constructor(console: Console, on: { key(key: Key): void; resize(): void }) {
    this.#console = console;
    this.#onKey = (key) => on.key(key);
    this.#onResize = () => on.resize();
  }

  get size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = this.#console.stdout;
    return { columns: columns || 80, rows: rows || 24 };
  }

  open(): void {
    const { stdin, stdout } = this.#console;
    // Alternate screen, cursor away, and no wrapping: a line that is too long after all ends at the edge.
    stdout.write("\x1b[?1049h\x1b[?25l\x1b[?7l");
    stdout.on("resize", this.#onResize);
    if (!stdin.isTTY) return;
    this.#raw = true;
    stdin.setRawMode(true);
    stdin.on("data", this.#typed);
    stdin.resume();
  }

  /** Replaces what is there, line by line: nothing flickers. */
  async draw(lines: readonly string[]): Promise<void> {
    const { rows } = this.size;
    // Cleared before it is written: behind a line that reaches the edge, clearing would take its last character.
    const shown = lines.slice(0, rows).map((line) => `\x1b[2K${line}`);
    const below = shown.length < rows ? "\r\n\x1b[J" : "";
    await this.#console.out(`\x1b[H${shown.join("\r\n")}${below}`);
  }

  close(): void {
    const { stdin, stdout } = this.#console;
    stdout.off("resize", this.#onResize);
    if (this.#raw) {
      stdin.off("data", this.#typed);
      stdin.setRawMode(false);
      stdin.pause();
      this.#raw = false;
    }
    stdout.write("\x1b[?7h\x1b[?25h\x1b[?1049l");
  }

  readonly #typed = (chunk: Buffer): void => {
    const text = chunk.toString("latin1");
    for (const [key, texts] of Object.entries(keys) as [Key, readonly string[]][])
      if (texts.includes(text)) this.#onKey(key);
  };
}
