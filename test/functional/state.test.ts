import assert from "node:assert/strict";
import { test } from "node:test";
import { createComputer, python, run } from "../support/computer.ts";
import { useAssistant } from "../support/use.ts";

const { assistant } = await useAssistant();

test("five sleep and wake rounds, one appended line each: all lines are there", async () => {
  const computer = await createComputer(assistant);
  for (const round of [1, 2, 3, 4, 5]) {
    assert.equal((await run(assistant, computer, `echo ${round} >> /work/lines`)).process.exit_code, 0);
    const asleep = await assistant.client.computers.sleep({ computer });
    assert.equal(asleep.state, "asleep");
    const awake = await assistant.client.computers.wake({ computer });
    assert.equal(awake.state, "awake");
  }
  assert.equal((await run(assistant, computer, "cat /work/lines")).stdout, "1\n2\n3\n4\n5\n");
});

test("five stop and start rounds, one appended line each: all lines are there", async () => {
  const computer = await createComputer(assistant);
  for (const round of [1, 2, 3, 4, 5]) {
    await run(assistant, computer, `echo ${round} >> /work/lines; echo ${round} >> /root/lines`);
    assert.equal((await assistant.client.computers.stop({ computer })).state, "stopped");
    assert.equal((await assistant.client.computers.wake({ computer })).state, "awake");
  }
  assert.equal(
    (await run(assistant, computer, "cat /work/lines /root/lines")).stdout,
    "1\n2\n3\n4\n5\n1\n2\n3\n4\n5\n",
  );
});

test("written a moment before sleep, without fsync: there after wake, and after stop", async () => {
  const computer = await createComputer(assistant);
  await run(
    assistant,
    computer,
    "head -c 5000000 /dev/zero | tr '\\0' x > /work/late; echo end >> /work/late",
  );
  await assistant.client.computers.sleep({ computer });
  assert.equal(
    (await run(assistant, computer, "tail -c 4 /work/late; wc -c < /work/late")).stdout,
    "end\n5000004\n",
  );
  await run(assistant, computer, "echo more >> /work/late");
  await assistant.client.computers.stop({ computer });
  assert.equal((await run(assistant, computer, "tail -c 9 /work/late")).stdout, "end\nmore\n");
});

test("a removed environment variable is gone from later processes", async () => {
  const computer = await createComputer(assistant, { environment: { KEPT: "yes", GONE: "soon" } });
  assert.equal((await run(assistant, computer, 'echo "$KEPT-$GONE"')).stdout, "yes-soon\n");
  const { version } = await assistant.client.computers.get({ computer });
  await assistant.client.computers.update({ computer, environment: { KEPT: "yes" }, if_match: version });
  assert.equal((await run(assistant, computer, 'echo "$KEPT-${GONE-unset}"')).stdout, "yes-unset\n");
  await assistant.client.computers.stop({ computer });
  assert.equal((await run(assistant, computer, 'echo "$KEPT-${GONE-unset}"')).stdout, "yes-unset\n");
});

test("the first request after wake gets the app: a service is ready again, at once and in the same process", async () => {
  const computer = await createComputer(assistant);
  const service = await assistant.client.services.create({
    computer,
    name: "web",
    argv: ["python3", "-m", "http.server", "8080", "--bind", "127.0.0.1"],
    cwd: "/work",
    port: 8080,
  });
  assert.equal(service.state, "ready");
  const fetchIt =
    "python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/').status)\"";
  await assistant.client.computers.sleep({ computer });
  assert.equal((await run(assistant, computer, fetchIt)).stdout, "200\n");
  assert.equal((await assistant.client.services.get({ computer, service: "web" })).restarts, 0);
  await assistant.client.computers.stop({ computer });
  await assistant.client.computers.wake({ computer });
  const again = await assistant.client.services.start({ computer, service: "web" });
  assert.equal(again.state, "ready");
  assert.equal((await run(assistant, computer, fetchIt)).stdout, "200\n");
});

test("a process started just before sleep ends properly after wake and blocks nothing", async () => {
  const computer = await createComputer(assistant);
  const process = await assistant.client.processes.start({ computer, command: "sleep 1; echo done; exit 7" });
  await assistant.client.computers.sleep({ computer });
  assert.equal((await run(assistant, computer, "echo free")).stdout, "free\n");
  const ended = await assistant.client.processes.get({ computer, process: process.id, wait_ms: 10_000 });
  assert.deepEqual([ended.state, ended.exit_code], ["ended", 7]);
  assert.equal((await assistant.client.processes.output({ computer, process: process.id })).stdout, "done\n");
});

test("two computers draw different random numbers and machine ids; a recycled slot keeps nothing of its former owner", async () => {
  const look = "cat /etc/machine-id; hostname; head -c 16 /dev/urandom | od -An -tx1";
  const first = await createComputer(assistant);
  const one = (
    await run(assistant, first, `${look}; echo secret > /work/secret; echo secret > /root/.secret`)
  ).stdout;
  await assistant.client.computers.destroy({ computer: first });
  const second = await createComputer(assistant);
  const two = (await run(assistant, second, look)).stdout;
  one
    .split("\n")
    .slice(0, 3)
    .forEach((line, index) => assert.notEqual(line, two.split("\n")[index]));
  assert.equal((await run(assistant, second, "ls -A /work /root | grep -c secret")).stdout, "0\n");
  assert.equal((await assistant.client.processes.list({ computer: second })).processes.length, 2);
});

test("a SQLite writer at full speed over sleep, wake and stop: every acknowledged row is there and the file is whole", async () => {
  const computer = await createComputer(assistant);
  const writer = await assistant.client.processes.start({
    computer,
    argv: [
      "python3",
      "-c",
      `
import sqlite3
db = sqlite3.connect("/work/rows.db", isolation_level=None)
db.execute("create table if not exists rows (n integer primary key, body text)")
said = open("/work/said", "w")
n = 0
while True:
    n += 1
    db.execute("insert into rows values (?, ?)", (n, "x" * (n % 3000)))
    said.seek(0); said.write(str(n)); said.flush()
`,
    ],
  });
  const look = async (): Promise<readonly [string, number, number]> => {
    const out = await python(
      assistant,
      computer,
      `
import sqlite3
import time
said = int(open("/work/said").read() or 0)
db = sqlite3.connect("/work/rows.db", timeout=0)
# SQLite's own way to wait sleeps longer than the writer leaves it room.
def ask(statement):
    end = time.monotonic() + 30
    while True:
        try: return db.execute(statement).fetchone()[0]
        except sqlite3.OperationalError:
            if time.monotonic() > end: raise
            time.sleep(0.0005)
print(ask("pragma integrity_check"), said, ask("select count(*) from rows"))
`,
    );
    const [whole = "", said, rows] = out.trim().split(" ");
    return [whole, Number(said), Number(rows)];
  };
  await run(assistant, computer, "until [ -s /work/said ]; do sleep 0.02; done");
  let before = 0;
  for (let round = 0; round < 2; round += 1) {
    await assistant.client.computers.sleep({ computer });
    await assistant.client.computers.wake({ computer });
    const [whole, said, rows] = await look();
    assert.equal(whole, "ok");
    assert.ok(rows >= said && rows > before, `${rows} rows, ${said} acknowledged, ${before} before`);
    before = rows;
  }
  assert.equal((await assistant.client.processes.get({ computer, process: writer.id })).state, "running");
  await assistant.client.computers.stop({ computer });
  await assistant.client.computers.wake({ computer });
  const [whole, said, rows] = await look();
  assert.equal(whole, "ok");
  assert.ok(rows >= said && rows >= before, `${rows} rows, ${said} acknowledged, ${before} before`);
});
