/**
 * The main job, once, by an assistant that has nothing but the official MCP client and a key: get a computer, build something on it,
 * keep it running, close the chat, come back and find all of it. Each step checks what it got; the first that is wrong ends the program
 * with status 1.
 *
 * usage: main.ts --url http://127.0.0.1:7300/mcp --key-file FILE [--keep]
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { Assistant } from "./assistant.ts";

const app = `import http.server, json, os, sqlite3

class Counter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with sqlite3.connect("/work/counter/visits.db") as db:
            db.execute("create table if not exists visits (at text)")
            db.execute("insert into visits values (datetime())")
            count = db.execute("select count(*) from visits").fetchone()[0]
        body = json.dumps({"visits": count, "greeting": os.environ["GREETING"]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(body)

http.server.ThreadingHTTPServer(("127.0.0.1", 8080), Counter).serve_forever()
`;

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      url: { type: "string" },
      "key-file": { type: "string" },
      keep: { type: "boolean", default: false },
    },
  });
  if (!values.url || !values["key-file"])
    throw new Error("usage: main.ts --url http://…/mcp --key-file FILE [--keep]");
  const key = (await readFile(values["key-file"], "utf8")).trim();
  const name = `quickstart-${randomBytes(3).toString("hex")}`;

  const first = await Assistant.connect(values.url, key);
  await first.step("the tools are there", async () => {
    const tools = await first.tools();
    for (const tool of ["computer_create", "exec", "file_write", "service_create"])
      check(tools.includes(tool), `no tool ${tool}`);
    return `${tools.length} tools`;
  });
  await first.step(`a computer of its own: ${name}`, async () => {
    const computer = await first.call("computer_create", {
      name,
      environment: { GREETING: "hello" },
      idempotency_key: name,
    });
    check(computer["state"] === "awake", `its state is ${String(computer["state"])}`);
    const again = await first.call("computer_create", {
      name,
      environment: { GREETING: "hello" },
      idempotency_key: name,
    });
    check(again["id"] === computer["id"], "the same idempotency key made a second computer");
    return String(computer["id"]);
  });
  await first.step("a program written to its disk", async () => {
    await first.call("file_write", { computer: name, path: "/work/counter/app.py", content: app });
    const read = await first.call("file_read", {
      computer: name,
      path: "/work/counter/app.py",
      max_bytes: 65_536,
    });
    check(read["content"] === app, "what was read back differs");
    return `${app.length} bytes`;
  });
  await first.step("a command with its true exit code", async () => {
    const result = await first.exec(name, "python3 -m py_compile app.py && id -u && exit 3", {
      cwd: "/work/counter",
    });
    check(
      result.exitCode === 3 && result.stdout === "0\n",
      `exit code ${result.exitCode}, output ${JSON.stringify(result.stdout)}`,
    );
    return "exit code 3, as asked";
  });
  await first.step("a service that is kept running", async () => {
    const service = await first.call("service_create", {
      computer: name,
      name: "counter",
      argv: ["python3", "/work/counter/app.py"],
      port: 8080,
      readiness: { kind: "http", path: "/", interval_ms: 500 },
    });
    check(
      service["state"] === "ready",
      `its state is ${String(service["state"])}: ${String(service["reason"])}`,
    );
    return "ready";
  });
  const before = await first.step("it answers", () => visits(first, name));
  await first.close();

  const second = await Assistant.connect(values.url, key);
  await second.step("the chat is closed; another one finds the computer", async () => {
    const computer = await second.call("computer_get", { computer: name });
    check(computer["state"] === "awake", `its state is ${String(computer["state"])}`);
    return String(computer["id"]);
  });
  await second.step("the service still answers and remembers", async () => {
    const after = await visits(second, name);
    check(Number(after) > Number(before), `it counted ${before} before and ${after} now`);
    return `${after} visits`;
  });
  await second.step("stopped and woken, its files and its service come back", async () => {
    await second.call("computer_stop", { computer: name });
    await second.call("computer_wake", { computer: name });
    const service = await second.call("service_restart", { computer: name, service: "counter" });
    check(
      service["state"] === "ready",
      `its state is ${String(service["state"])}: ${String(service["reason"])}`,
    );
    return `${await visits(second, name)} visits`;
  });
  if (!values.keep)
    await second.step("destroyed, when it is no longer needed", () =>
      second.call("computer_destroy", { computer: name }).then(() => name),
    );
  await second.close();
  process.stdout.write("The quickstart succeeded.\n");
};

/** Asks the app from inside the computer; answers its count. */
const visits = async (assistant: Assistant, computer: string): Promise<string> => {
  const { stdout, exitCode } = await assistant.exec(
    computer,
    "curl -sS --max-time 10 http://127.0.0.1:8080/",
  );
  check(exitCode === 0, `curl ended with ${exitCode}`);
  const reply: unknown = JSON.parse(stdout);
  check(
    typeof reply === "object" && reply !== null && "visits" in reply && "greeting" in reply,
    `it answered ${stdout}`,
  );
  check(reply.greeting === "hello", `its greeting is ${String(reply.greeting)}`);
  return String(reply.visits);
};

function check(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise);
}

await main().catch((error: unknown) => {
  process.stderr.write(`The quickstart failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
