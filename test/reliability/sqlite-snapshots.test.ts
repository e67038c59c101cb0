import { test } from "node:test";
import { useAssistant } from "../support/use.ts";
import { writeThroughSnapshots } from "./holding/sqlite.ts";

const { instance, assistant } = await useAssistant();

test("a SQLite writer at full speed through 100 snapshots: every copy is whole and holds every commit acknowledged before", async (context) => {
  await writeThroughSnapshots(context, { instance, assistant }, { journal: "wal", snapshots: 100, forks: 4 });
});
