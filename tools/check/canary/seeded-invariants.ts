// Seeded breaks of the repository's rules (test/repo/rules.ts), by name and by every other way to the same thing. The run that judges the
// programs must report every line that ends in the name of a rule, and no other line.
import { randomBytes as bytes, randomUUID, generateKeyPairSync, webcrypto } from "node:crypto"; // no-random
import * as nodeCrypto from "node:crypto";
import { performance as stopwatch } from "node:perf_hooks"; // no-clock
import { uptime } from "node:os"; // no-clock
import { setTimeout as pause } from "node:timers/promises"; // no-timer
import { setInterval as every } from "node:timers"; // no-timer
import { connect } from "node:net"; // no-dialing
import { lookup } from "node:dns/promises"; // no-dialing
import { request } from "node:http"; // no-dialing no-http
import { spawn as start } from "node:child_process"; // no-starting
import { readdir, readFile } from "node:fs/promises"; // no-files no-walking
import * as files from "node:fs"; // no-files
import { Hono } from "hono"; // no-http
import { sql } from "kysely"; // no-sql
import { Pool } from "pg"; // no-sql
import type { Handler } from "../../../packages/control/src/domain/handler.ts";
import { aliased } from "./seeded-reexport.ts"; // no-random

const Clock = Date; // no-clock
const { random } = Math; // no-random
const { now } = Date; // no-clock
const { env: variables } = process; // no-environment

let count = 0; // no-module-state
const seen = new Map<string, number>(); // no-module-state
const list: string[] = []; // no-module-state
export const fixed: ReadonlyMap<string, number> = new Map();
export const constant: readonly string[] = ["a"];

export class Counter {
  static total = 0; // no-module-state
  static readonly names = new Set<string>(); // no-module-state
  static readonly limit = 1;
}

export const clocks = (): unknown[] => {
  count += 1;
  return [
    Date.now(), // no-clock
    Date["now"](), // no-clock
    new Date(), // no-clock
    new Clock(),
    now(),
    new Date(count),
    Date.parse("2026-01-01"),
    stopwatch.now(), // no-clock
    performance.now(), // no-clock
    process.hrtime.bigint(), // no-clock
    process.uptime(), // no-clock
    uptime(), // no-clock
  ];
};

export const randoms = (): unknown[] => [
  Math.random(), // no-random
  Math["random"](), // no-random
  random(),
  bytes(1), // no-random
  randomUUID(), // no-random
  generateKeyPairSync("ed25519"), // no-random
  webcrypto.getRandomValues(new Uint8Array(1)), // no-random
  crypto.randomUUID(), // no-random
  globalThis.crypto.getRandomValues(new Uint8Array(1)), // no-random
  nodeCrypto.randomInt(2), // no-random
  nodeCrypto["randomBytes"](1), // no-random
  aliased(1), // no-random
];

export const timers = async (): Promise<unknown[]> => [
  setTimeout(() => {}, 1), // no-timer
  globalThis.setInterval(() => {}, 1), // no-timer
  every(() => {}, 1), // no-timer
  await pause(1), // no-timer
  AbortSignal.timeout(1), // no-timer
  connect("/nowhere").setTimeout(1), // no-dialing no-timer
];

export const outside = async (): Promise<unknown[]> => [
  process.env["HOME"], // no-environment
  variables["HOME"],
  await fetch("http://127.0.0.1:9"), // no-dialing
  new WebSocket("ws://127.0.0.1:9"), // no-dialing
  request("http://127.0.0.1:9"), // no-dialing no-http
  await lookup("localhost"), // no-dialing
  start("true"), // no-starting
  await readdir("/"), // no-files no-walking
  await readFile("/etc/hostname"), // no-files
  files.opendirSync("/"), // no-files no-walking
];

export const words = (): unknown[] => [
  new Hono(), // no-http
  sql`select 1`, // no-sql
  new Pool().query("select 1"), // no-sql
  { status: 404 }, // no-http
  { jsonrpc: "2.0" }, // no-http
  { code: -32_600 }, // no-http
  { status: "awake" },
];

export const around = async (handler: Handler<"computer.list">, given: never): Promise<unknown> => {
  seen.set("x", list.length);
  await handler.admit?.(given, given, given); // no-run
  return handler.run(given, given, {}); // no-run
};
