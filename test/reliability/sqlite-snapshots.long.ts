import { test } from "node:test";
import { useAssistant } from "../support/use.ts";
import { writeThroughSnapshots } from "./holding/sqlite.ts";

const { instance, assistant } = await useAssistant();

for (const journal of ["wal", "delete"] as const)
  test(`a SQLite writer at full speed through 100 snapshots (journal: ${journal}): every one is restored as a computer, whole, with every commit acknowledged before`, async (context) => {
    await writeThroughSnapshots(context, { instance, assistant }, { journal, snapshots: 100, forks: 100 });
  });
