import assert from "node:assert/strict";
import { createClient } from "@holdfast/sdk";
import { untilState } from "../../support/holding.ts";
import { servedProject } from "../../support/projects.ts";
import { untilAcknowledged } from "../acknowledge.ts";
import { type Bench, linesOf, linesOfSnapshot, newName, startTicker, type Subject } from "./bench.ts";

/** Something that is under way while the programs are killed. */
export interface Move {
  /** Repeats its request until it is acknowledged. */
  act(): Promise<void>;
  /** Whether it is now as was acknowledged: whole, once, and nothing else changed. */
  check(): Promise<void>;
}

/** Makes what a move needs, with every program well. */
export type Prepare = (bench: Bench, subject: Subject) => Promise<Move>;

const acknowledged = <T>(what: string, attempt: () => Promise<T>): Promise<T> =>
  untilAcknowledged(what, attempt);

const sameLines = async (bench: Bench, subject: Subject, lines = subject.lines): Promise<void> =>
  assert.deepEqual(await linesOf(bench, subject.computer), lines, "acknowledged lines");

const waitMs = 20_000;

const transition =
  (verb: "sleep" | "stop" | "archive", state: "asleep" | "stopped" | "archived"): Prepare =>
  async (bench, subject) => {
    const { computer } = subject;
    const ticker = await startTicker(bench, computer);
    return {
      act: async () => {
        await acknowledged(verb, () => bench.assistant.once.computers[verb]({ computer, wait_ms: waitMs }));
      },
      check: async () => {
        await untilState(bench.assistant, computer, state);
        await sameLines(bench, subject);
        if (verb === "sleep") await ticker.stillRuns();
        await untilState(bench.assistant, computer, "awake");
      },
    };
  };

const wake =
  (verb: "sleep" | "stop" | "archive", state: "asleep" | "stopped" | "archived"): Prepare =>
  async (bench, subject) => {
    const { computer } = subject;
    const ticker = await startTicker(bench, computer);
    await acknowledged(verb, () => bench.assistant.once.computers[verb]({ computer, wait_ms: waitMs }));
    await untilState(bench.assistant, computer, state);
    return {
      act: async () => {
        await acknowledged("wake", () => bench.assistant.once.computers.wake({ computer, wait_ms: waitMs }));
      },
      check: async () => {
        await untilState(bench.assistant, computer, "awake");
        await sameLines(bench, subject);
        if (verb === "sleep") await ticker.stillRuns();
      },
    };
  };

const snapshot: Prepare = async (bench, subject) => {
  const { computer } = subject;
  const name = newName("taken");
  const options = { idempotencyKey: name };
  let id = "";
  return {
    act: async () => {
      const { once } = bench.assistant;
      ({ id } = await acknowledged("snapshot", () => once.snapshots.create({ computer, name }, options)));
    },
    check: async () => {
      const { snapshots } = await bench.assistant.client.snapshots.list({ computer });
      assert.deepEqual(
        snapshots.map((one) => [one.id, one.name]),
        [[id, name]],
      );
      assert.deepEqual(await linesOfSnapshot(bench, id), subject.lines);
      await sameLines(bench, subject);
    },
  };
};

const restore: Prepare = async (bench, subject) => {
  const { computer } = subject;
  const { client, once } = bench.assistant;
  const { id } = await client.snapshots.create({ computer, name: "point" });
  const then = [...subject.lines];
  await subject.append(2);
  const options = { idempotencyKey: newName("restore") };
  let before = "";
  return {
    act: async () => {
      const input = { computer, snapshot: "point", what: "files_and_definitions", wait_ms: waitMs } as const;
      ({ before } = await acknowledged("restore", () => once.snapshots.restore(input, options)));
    },
    check: async () => {
      await untilState(bench.assistant, computer, "awake");
      await sameLines(bench, subject, then);
      const { snapshots } = await client.snapshots.list({ computer });
      assert.deepEqual(snapshots.map((one) => one.id).sort(), [before, id].sort());
      assert.deepEqual(await linesOfSnapshot(bench, before), subject.lines, "what was replaced");
    },
  };
};

const fork: Prepare = async (bench, subject) => {
  const { computer } = subject;
  const { client, once } = bench.assistant;
  const name = newName("forked");
  const options = { idempotencyKey: name };
  let id = "";
  return {
    act: async () => {
      ({ id } = await acknowledged("fork", () =>
        once.computers.fork({ computer, name, wait_ms: waitMs }, options),
      ));
    },
    check: async () => {
      const { computers } = await client.computers.list({ limit: 200 });
      assert.deepEqual(
        computers.filter((one) => one.name === name).map((one) => one.id),
        [id],
      );
      await untilState(bench.assistant, id, "awake");
      assert.deepEqual(await linesOf(bench, id), subject.lines);
      await sameLines(bench, subject);
      assert.deepEqual(
        (await client.snapshots.list({ computer })).snapshots,
        [],
        "the fork's own snapshot stayed",
      );
    },
  };
};

const promote: Prepare = async (bench, subject) => {
  const { client, once } = bench.assistant;
  const name = newName("promoted");
  const { id } = await client.computers.fork({
    computer: subject.computer,
    name,
    lifetime_ms: 10 * 60_000,
    wait_ms: waitMs,
  });
  const ticker = await startTicker(bench, id);
  return {
    act: async () => {
      await acknowledged("promote", () => once.computers.promote({ computer: id }));
    },
    check: async () => {
      const { expires_at, name: kept, state } = await client.computers.get({ computer: id });
      assert.deepEqual([expires_at, kept, state], [null, name, "awake"]);
      await ticker.stillRuns();
      assert.deepEqual(await linesOf(bench, id), subject.lines);
    },
  };
};

/** A child's offer: struck while it is made, or while it is accepted. */
const offer =
  (struck: "made" | "accepted"): Prepare =>
  async (bench, subject) => {
    const { computer } = subject;
    const { client, once } = bench.assistant;
    const { folder, id: project } = await servedProject(bench.assistant, computer, "site");
    const child = await client.children.create({ computer, name: newName("child"), wait_ms: waitMs });
    const helper = createClient({ baseUrl: bench.instance.url, token: child.secret, retries: 0 });
    const command = `cd ${folder} && mkdir given && for i in $(seq 200); do echo $i > given/$i; done; ln -s 1 given/link`;
    await acknowledged("files", () => helper.processes.exec({ computer: child.computer.id, command }));
    const made = newName("offer");
    const make = () =>
      acknowledged("offer", () =>
        helper.offers.create(
          { computer: child.computer.id, paths: [`${folder}/given`] },
          { idempotencyKey: made },
        ),
      );
    const first = struck === "accepted" ? await make() : undefined;
    const accepted = newName("accept");
    const accept = async () => {
      const { id, digest } = first ?? (await make());
      return acknowledged("accept", () =>
        once.offers.accept({ offer: id, digest }, { idempotencyKey: accepted }),
      );
    };
    return {
      act: async () => {
        await (struck === "made" ? make() : accept());
      },
      check: async () => {
        const { commit } = await accept();
        const { offers } = await client.offers.list({ computer });
        assert.deepEqual(
          offers.map(({ state, entries }) => [state, entries]),
          [["accepted", 202]],
        );
        const look = `cd ${folder} && ls given | wc -l && cat given/* | sort -n | uniq | wc -l && readlink given/link && git status --porcelain && ls -A . | grep -vxE 'given|server.js|README.md|\\.gitignore|\\.git|holdfast.json' | wc -l`;
        const { stdout } = await client.processes.exec({ computer, command: look });
        assert.equal(stdout, "201\n200\n1\n0\n", "whole, and nothing beside it");
        const { commits } = await client.projects.history({ project });
        assert.equal(commits.filter((one) => one.commit === commit).length, 1);
        assert.equal(commits.length, 3, JSON.stringify(commits.map(({ message }) => message)));
        await sameLines(bench, subject);
        await client.computers.destroy({ computer: child.computer.id });
      },
    };
  };

const destroy: Prepare = async (bench, subject) => {
  const { computer } = subject;
  const { client, once } = bench.assistant;
  for (const name of ["one", "two"]) await client.snapshots.create({ computer, name });
  const child = await client.children.create({ computer, name: newName("child"), wait_ms: waitMs });
  return {
    act: async () => {
      await acknowledged("destroy", () => once.computers.destroy({ computer }));
    },
    check: async () => {
      await untilState(bench.assistant, computer, "destroyed");
      const { computers } = await client.computers.list({ limit: 200 });
      assert.deepEqual(
        computers.filter(({ id }) => id === computer || id === child.computer.id),
        [],
      );
    },
  };
};

/** By name, in the order in which rounds take them. */
export const moves: Readonly<Record<string, Prepare>> = {
  sleep: transition("sleep", "asleep"),
  wake: wake("sleep", "asleep"),
  snapshot,
  restore,
  fork,
  promote,
  "make an offer": offer("made"),
  "accept an offer": offer("accepted"),
  archive: transition("archive", "archived"),
  "wake from the archive": wake("archive", "archived"),
  stop: transition("stop", "stopped"),
  "wake from stopped": wake("stop", "stopped"),
  destroy,
};
