import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import type { ReadStream, WriteStream } from "node:tty";
import { CliError, exitCodes } from "../errors.ts";
import { fitted } from "../present/lines.ts";
import { printable } from "./printable.ts";

export interface Streams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** The person or program at the other end: data goes to stdout, words to stderr, questions only to a terminal. */
export class Console {
  readonly #streams: Streams;
  readonly #color: boolean;
  /** Whether data may be coloured: a person looks at it and has not refused. */
  readonly stdoutColor: boolean;
  /** `--no-input`: never ask, fail instead. */
  noInput = false;
  /** `--quiet`: no words that are not failures. */
  quiet = false;

  constructor(streams: Streams, environment: Readonly<Record<string, string | undefined>>) {
    this.#streams = streams;
    const refused = (environment["NO_COLOR"] ?? "") !== "" || environment["TERM"] === "dumb";
    this.#color = !refused && streams.stderr.isTTY === true;
    this.stdoutColor = !refused && streams.stdout.isTTY === true;
  }

  get stdin(): NodeJS.ReadStream {
    return this.#streams.stdin;
  }

  get stdout(): NodeJS.WriteStream {
    return this.#streams.stdout;
  }

  /** Whether a person looks at the data. */
  get stdoutIsTty(): boolean {
    return this.#streams.stdout.isTTY === true;
  }

  /** Whether a person looks at the words. */
  get stderrIsTty(): boolean {
    return this.#streams.stderr.isTTY === true;
  }

  get interactive(): boolean {
    return !this.noInput && this.#streams.stdin.isTTY === true && this.stderrIsTty;
  }

  /** Columns for data; undefined when no person looks at it. */
  get width(): number | undefined {
    return this.stdoutIsTty ? (this.#streams.stdout.columns ?? 100) : undefined;
  }

  /** Writes data, waiting while the reader is slow. */
  async out(data: string | Uint8Array): Promise<void> {
    if (!this.#streams.stdout.write(data)) await once(this.#streams.stdout, "drain");
  }

  async errOut(data: Uint8Array): Promise<void> {
    if (!this.#streams.stderr.write(data)) await once(this.#streams.stderr, "drain");
  }

  /** Words for a person; control characters from elsewhere are shown, not obeyed. */
  say(line: string): void {
    if (!this.quiet) this.#streams.stderr.write(`${this.#fitted(line)}\n`);
  }

  /** A suggestion of what to do next: only where a person reads it. */
  hint(line: string): void {
    if (this.stderrIsTty && !this.quiet) this.#streams.stderr.write(`${this.#dim(this.#fitted(line))}\n`);
  }

  fail(lines: readonly string[]): void {
    const [title = "", ...rest] = lines.map((line) => this.#fitted(line));
    this.#streams.stderr.write(`${[this.#red(title), ...rest].join("\n")}\n`);
  }

  /** A line that is replaced by the next one; nothing when nobody looks. */
  progress(line: string): void {
    if (this.stderrIsTty && !this.quiet) this.#streams.stderr.write(`\r\x1b[2K${printable(line)}`);
  }

  clearProgress(): void {
    if (this.stderrIsTty && !this.quiet) this.#streams.stderr.write("\r\x1b[2K");
  }

  async ask(question: string, otherwise: string): Promise<string> {
    this.#mustAsk(question, otherwise);
    const lines = createInterface({ input: this.#streams.stdin, output: this.#streams.stderr });
    try {
      return (await lines.question(`${printable(question)} `)).trim();
    } finally {
      lines.close();
    }
  }

  /** Asks for a secret: nothing typed appears. */
  async askHidden(question: string, otherwise: string): Promise<string> {
    this.#mustAsk(question, otherwise);
    const input = this.#streams.stdin as ReadStream;
    (this.#streams.stderr as WriteStream).write(`${printable(question)} `);
    input.setRawMode(true);
    try {
      return await readHidden(input);
    } finally {
      input.setRawMode(false);
      input.pause();
      this.#streams.stderr.write("\n");
    }
  }

  #mustAsk(question: string, otherwise: string): void {
    if (!this.interactive) {
      throw new CliError(
        `This needs an answer: ${question.replace(/:$/, "")}`,
        "Nobody can be asked here.",
        otherwise,
        exitCodes.usage,
      );
    }
  }

  /** Broken between words where a person looks. */
  #fitted(line: string): string {
    const width = this.stderrIsTty ? (this.#streams.stderr.columns ?? 100) : undefined;
    return fitted(printable(line), /^( *(?:[A-Z][a-z]+: )?)(.*)$/s, width);
  }

  #red(text: string): string {
    return this.#color ? `\x1b[31m${text}\x1b[39m` : text;
  }

  #dim(text: string): string {
    return this.#color ? `\x1b[2m${text}\x1b[22m` : text;
  }
}

const readHidden = (input: ReadStream): Promise<string> =>
  new Promise((resolve, reject) => {
    let typed = "";
    const decoder = new TextDecoder();
    const stop = (): void => {
      input.off("data", read);
    };
    const read = (chunk: Buffer): void => {
      for (const character of decoder.decode(chunk, { stream: true })) {
        if (character === "\r" || character === "\n") {
          stop();
          return resolve(typed);
        }
        if (character === "\x03" || character === "\x04") {
          stop();
          return reject(
            new CliError(
              "Interrupted",
              "Nothing was done.",
              "Start again when you like.",
              exitCodes.interrupted,
            ),
          );
        }
        typed =
          character === "\x7f" || character === "\b" ? [...typed].slice(0, -1).join("") : typed + character;
      }
    };
    input.on("data", read);
    input.resume();
  });
