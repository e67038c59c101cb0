import { execFile } from "node:child_process";
import { dirname } from "node:path";
import process from "node:process";
import { Refusal } from "./serve.mjs";

const timeoutMs = 60_000;
const pauseMs = 5_000;

/**
 * Runs a program of this project because a visitor asked for it: the same one that the schedule runs. One at a time, and a pause after each: who may
 * visit may press the button, but not keep the computer busy with it.
 */
export class Maker {
  #program;
  #now;
  #running = false;
  #mayRunAt = 0;

  constructor(program, now = Date.now) {
    this.#program = program;
    this.#now = now;
  }

  async run() {
    if (this.#running || this.#now() < this.#mayRunAt)
      throw new Refusal(429, "One was made just now. Try again in a few seconds.", { "retry-after": "5" });
    this.#running = true;
    try {
      await this.#execute();
    } finally {
      this.#running = false;
      this.#mayRunAt = this.#now() + pauseMs;
    }
  }

  #execute() {
    return new Promise((resolve, reject) => {
      const options = { cwd: dirname(this.#program), timeout: timeoutMs, maxBuffer: 1024 * 1024 };
      execFile(process.execPath, [this.#program], options, (error, _stdout, stderr) => {
        if (!error) return resolve();
        console.error(stderr);
        reject(new Refusal(500, `It could not be made: ${lastLine(stderr) || error.message}`));
      });
    });
  }
}

const lastLine = (text) => text.trim().split("\n").at(-1);
