// The test's hand inside the guest: reads requests from the virtio port, one JSON object a line, and runs each with bash.
//
//   in   {"id": 1, "script": "uname -a", "directory": "/root"}
//   out  {"hello": "<boot id>", "uptime": 12.3}   once, when it starts
//        {"id": 1, "text": "…"}                   standard output and error as they come
//        {"id": 1, "status": 0}                   the end
//
// Plain JavaScript for Debian's own Node 18.
import { spawn } from "node:child_process";
import { createReadStream, openSync, readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import process from "node:process";

const port = openSync(process.argv[2], "r+");

/** A full port answers EAGAIN or takes a part; both are tried again, so that no line is cut. */
const say = (message) => {
  let bytes = Buffer.from(`\n${JSON.stringify(message)}\n`);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(port, bytes));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
};

const run = ({ id, script, directory }) => {
  const child = spawn("/bin/bash", ["-c", script], {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: "/root",
      LANG: "C.UTF-8",
      USER: "root",
      // Node compiles and strips each of our files once instead of at every call: under emulation that is most of a call.
      NODE_COMPILE_CACHE: "/var/cache/node-compile",
    },
  });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => say({ id, text }));
  // `exit`, not `close`: what a command left running may hold its output open.
  child.once("exit", (code, signal) => setTimeout(() => say({ id, status: code ?? signal }), 200));
  child.once("error", (error) => say({ id, status: String(error) }));
};

say({ hello: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() });
for await (const line of createInterface({ input: createReadStream("", { fd: port, autoClose: false }) }))
  if (line !== "") run(JSON.parse(line));
