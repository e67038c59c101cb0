import { resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { instancePattern, limits } from "@holdfast/contract";
import { defaultDataDirectory } from "@holdfast/launcher";
import { checkListen } from "./projects.ts";
import type { InstanceWishes } from "./steps/instance.ts";

export interface HostArguments extends InstanceWishes {
  readonly bare: boolean;
  readonly json: boolean;
  readonly keepCells: boolean;
  readonly deleteData: string | undefined;
  readonly output: string | undefined;
}

export const verbNames = ["up", "down", "status", "doctor", "install", "owner login", "run"] as const;
export type VerbName = (typeof verbNames)[number];

const summaries: Readonly<Record<VerbName, string>> = {
  up: "set up this host as far as it is not, start every program, print how to connect",
  down: "stop every program and computer of the instance; everything durable stays",
  status: "the programs with their pids, health and addresses",
  doctor: "prove each thing the instance needs, and say what to do about what is missing",
  install: "write systemd units, so that the instance comes up with the host",
  "owner login":
    "mint an owner's one-time login, shown on this terminal; redeemed, it replaces the passphrase of an owner who had one",
  run: "as up, in the foreground: what the units call",
};

/** What a verb prints with `--help`: its own options and no other's. */
export const usageOf = (verb: VerbName): string => {
  const setsUp = verb === "up" || verb === "run";
  const options = optionTexts.filter(([, , ...verbs]) => verbs.length === 0 || verbs.includes(verb));
  const lines = options.map(([name, text]) => `  ${name.padEnd(25)}${text}`);
  return `usage: holdfast ${verb} [options]

${summaries[verb]}

options
${lines.join("\n")}
${setsUp ? projectOptions : ""}`;
};

/** Of all verbs. */
export const usage = `usage: holdfast <verb> [options]

${verbNames.map((name) => `  ${name.padEnd(14)}${summaries[name]}`).join("\n")}

Options of a verb: holdfast <verb> --help
`;

/** Name, what it does, and the verbs that have it; without any, all have. */
const optionTexts: readonly (readonly [string, string, ...VerbName[]])[] = [
  ["--instance <name>", "several live side by side on one host (default: default)"],
  [
    "--data <directory>",
    "where everything durable is (default: /var/lib/holdfast, /var/lib/holdfast-<instance>)",
  ],
  [
    "--listen <address:port>",
    "of the API; may be repeated (default: 127.0.0.1:7300, the next free port for a further instance)",
    "up",
    "run",
  ],
  ["--allow-host <name>", "a further Host name accepted; may be repeated", "up", "run"],
  [
    "--pool-size <size>",
    "of a new pool, like 20G (default: half of the free space, at most 50G)",
    "up",
    "run",
  ],
  [
    "--warm <n>",
    `blank computers kept started, for fast creations; 0 to ${limits.warmCells}, or \`default\`: 2 to 4 on a host with 8 GiB and 4 processors or more`,
    "up",
    "run",
  ],
  ["--bare", "do not do the quickstart on an empty data directory", "up"],
  ["--json", "for programs", "status", "doctor"],
  ["--keep-cells", "leave the computers running", "down"],
  ["--delete-data <name>", "also delete the data directory; the instance's name again, to be sure", "down"],
  ["--output <directory>", "write the units there and enable nothing", "install"],
];

const projectOptions = `
addresses of projects
  --projects-domain <name>           projects are <slug>.<name>; never of the API's registrable domain (default: localhost)
  --projects-listen <address:port>   where visitors come in; may be repeated (default: 127.0.0.1:7301, or the next free port)
  --projects-address <url>           what people are told where a proxy stands in front, like https://apps.example.org; \`none\`: no proxy
  --projects-tls-cert <file>         a certificate for *.<name> with its chain, PEM; renewed files are taken over; \`none\`: no longer
  --projects-tls-key <file>          its key, PEM without a passphrase; both files may be root's alone
  --projects-ask <address:port>      on loopback, where a TLS proxy asks \`/ask?domain=\` (default: 127.0.0.1:7302, or the next free port)

HOLDFAST_DATABASE_URL in the environment uses a shared Postgres instead of a private one.
`;

/** Words for what `parseHostArguments` threw, and whether it was the use that was wrong. */
export const complaint = (
  verb: string,
  argv: readonly string[],
  error: unknown,
): { readonly text: string; readonly isUsage: boolean } => {
  const said = error instanceof Error ? error.message : String(error);
  const isUsage =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
  if (!isUsage) return { text: said, isUsage };
  if (said.includes("'--delete-data")) {
    const named = argv.indexOf("--instance") + 1;
    return { text: wantedName((named > 0 && argv[named]) || "default"), isUsage };
  }
  // Node's own words about options go on with a lesson on parsing.
  return { text: `${said.split(/[.\n]/)[0]}. See \`holdfast ${verb} --help\`.`, isUsage };
};

/** What `--delete-data` without the right name gets. */
export const wantedName = (instance: string): string =>
  `--delete-data takes the name of the instance, ${instance}, so that nothing is deleted by mistake.`;

/** Throws with what is wrong in words for the person who typed it. */
export const parseHostArguments = (argv: readonly string[]): HostArguments => {
  const { values } = parseArgs({
    args: [...argv],
    strict: true,
    options: {
      instance: { type: "string", default: "default" },
      data: { type: "string" },
      listen: { type: "string", multiple: true },
      "allow-host": { type: "string", multiple: true },
      "pool-size": { type: "string" },
      "projects-domain": { type: "string" },
      "projects-listen": { type: "string", multiple: true },
      "projects-address": { type: "string" },
      "projects-tls-cert": { type: "string" },
      "projects-tls-key": { type: "string" },
      "projects-ask": { type: "string" },
      warm: { type: "string" },
      bare: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      "keep-cells": { type: "boolean", default: false },
      "delete-data": { type: "string" },
      output: { type: "string" },
    },
  });
  if (!instancePattern.test(values.instance)) {
    throw new Error(
      `An instance name is up to 16 of a-z, 0-9 and -, and starts with a letter; ${JSON.stringify(values.instance)} is not.`,
    );
  }
  for (const address of values.listen ?? []) checkListen("listen", address, "127.0.0.1:7300");
  for (const address of values["projects-listen"] ?? [])
    checkListen("projects-listen", address, "127.0.0.1:7301");
  if (values["projects-ask"] !== undefined)
    checkListen("projects-ask", values["projects-ask"], "127.0.0.1:7302");
  const data = resolve(values.data ?? defaultDataDirectory(values.instance));
  if (!/^[A-Za-z0-9/._-]+$/.test(data))
    throw new Error(`The data directory may only hold A-Z a-z 0-9 / . _ and -: ${data}`);
  return {
    instance: values.instance,
    data,
    listen: values.listen,
    allowHosts: values["allow-host"],
    poolBytes: values["pool-size"] === undefined ? undefined : parseSize(values["pool-size"]),
    databaseUrl: process.env["HOLDFAST_DATABASE_URL"] || undefined,
    projects: {
      listen: values["projects-listen"],
      domain: values["projects-domain"],
      address: values["projects-address"],
      tlsChain: fileOf(values["projects-tls-cert"]),
      tlsKey: fileOf(values["projects-tls-key"]),
      ask: values["projects-ask"],
    },
    warm: values.warm === undefined ? undefined : parseWarm(values.warm),
    bare: values.bare,
    json: values.json,
    keepCells: values["keep-cells"],
    deleteData: values["delete-data"],
    output: values.output,
  };
};

/** Of a file that is named from where the person stands; `none` is no file. */
const fileOf = (name: string | undefined): string | undefined =>
  name === undefined || name === "none" ? name : resolve(name);

const parseWarm = (text: string): number | "default" => {
  if (text === "default") return text;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > limits.warmCells)
    throw new Error(
      `--warm takes a number up to ${limits.warmCells}, or \`default\`; ${JSON.stringify(text)} is neither.`,
    );
  return number;
};

/** Bytes of a size like `20G` or `4096M`; binary units. */
export const parseSize = (text: string): number => {
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)([MGT]?)(?:i?B)?$/i.exec(text) ?? [];
  const exponents: Readonly<Record<string, number>> = { "": 0, M: 2, G: 3, T: 4 };
  if (number === undefined)
    throw new Error(`--pool-size takes a size like 20G; ${JSON.stringify(text)} is not.`);
  return Math.floor(Number(number) * 1024 ** (exponents[unit.toUpperCase()] ?? 0));
};
