import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import type { Transaction } from "../store/transaction.ts";
import { Together } from "./together.ts";

/** A store whose commits are numbered; a commit that fails leaves nothing. */
const openStore = (commit: () => Promise<void> = () => Promise.resolve()) => {
  const commits: string[][] = [];
  let writing: string[] = [];
  const transaction = async <T>(work: (transaction: Transaction) => Promise<T>): Promise<T> => {
    writing = [];
    const value = await work({} as Transaction);
    await commit();
    commits.push(writing);
    return value;
  };
  return { commits, store: { transaction }, write: (text: string) => writing.push(text) };
};
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("what comes while a commit is under way is committed together, each with its own value", async () => {
  const { store, commits, write } = openStore(turn);
  const together = new Together(store);
  const values = await Promise.all(
    ["a", "b", "c", "d"].map((name) => together.run(async () => (write(name), `${name}!`))),
  );
  assert.deepEqual(values, ["a!", "b!", "c!", "d!"]);
  assert.deepEqual(commits, [["a"], ["b", "c", "d"]]);
});

test("a part that fails is told so, and the others are committed", async () => {
  const { store, commits, write } = openStore();
  const together = new Together(store);
  const first = together.run(turn);
  const ends = await Promise.allSettled(
    ["b", "bad", "c"].map((name) =>
      together.run(async () => {
        if (name === "bad") throw new Error(name);
        await turn();
        write(name);
      }),
    ),
  );
  await first;
  assert.deepEqual(
    ends.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.deepEqual(commits, [[], ["b"], ["c"]]);
});

test("while the database is away each is told, and none is tried over and over", async () => {
  let tries = 0;
  const { store } = openStore(() => {
    tries += 1;
    return Promise.reject(new HoldfastError("unavailable", "the database is not answering"));
  });
  const together = new Together(store);
  const ends = await Promise.allSettled(["a", "b", "c"].map(() => together.run(turn)));
  assert.ok(ends.every(({ status }) => status === "rejected"));
  assert.equal(tries, 2);
});
