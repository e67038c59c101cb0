import { type Node, SyntaxKind } from "typescript/unstable/ast";
import {
  isCallExpression,
  isElementAccessExpression,
  isIdentifier,
  isNewExpression,
  isNumericLiteral,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isStringLiteral,
} from "typescript/unstable/ast/is";
import { findModuleState } from "./module-state.ts";
import { lineOf, nodesOf, type Sources, type Use } from "./uses.ts";

/** One rule of the house about programs: where it holds, and what it finds there. */
export interface Rule {
  readonly name: string;
  readonly holds: (file: string) => boolean;
  /** Lines that break it. */
  readonly finds: (file: string, sources: Sources) => readonly number[];
}

const inPackage = (...names: readonly string[]) => {
  const pattern = new RegExp(`^packages/(${names.join("|")})/src/`);
  return (file: string): boolean => pattern.test(file);
};
/** Handed to cells and run there; `invariants.test.ts` holds that no program loads it. */
export const runsInCells = (file: string): boolean => file.startsWith("packages/control/src/throwaway/tool/");
const onTheHost =
  (...names: readonly string[]) =>
  (file: string): boolean =>
    inPackage(...names)(file) && !runsInCells(file);
const programs = onTheHost("control", "supervisor", "launcher", "gateway");
const control = inPackage("control");
const speaksHttp = onTheHost("control", "gateway");
const programsAndClients = inPackage("control", "supervisor", "launcher", "gateway", "sdk", "cli");
/** Places where outside things come in, to be handed on through constructors. */
const isLib = (file: string): boolean => /^packages\/\w+\/src\/lib\//.test(file);
const isMain = (file: string): boolean => /^packages\/\w+\/src\/main\.ts$/.test(file);

/** A file that a rule leaves out, each with its reason. */
const except = (reasons: Readonly<Record<string, string>>) => (file: string) =>
  !Object.hasOwn(reasons, `${file.split("/")[1]}:${file.split("/").slice(3).join("/")}`);

/** What a rule forbids: names by where they were declared; `*` is everything from there. */
type Forbidden = Readonly<Record<string, readonly string[]>>;

const uses =
  (forbidden: Forbidden, also: (use: Use) => boolean = () => true) =>
  (file: string, sources: Sources): readonly number[] =>
    sources
      .uses(file)
      .filter((use) => {
        const names = forbidden[use.from];
        return names !== undefined && (names.includes("*") || names.includes(use.name)) && also(use);
      })
      .map(({ line }) => line);

/** `new Date(known)`, `Date.parse` and the type read no clock. */
const readsClock = ({ from, name, node }: Use): boolean => {
  if (from !== "lib" || name !== "Date") return true;
  const { parent } = node;
  if (isNewExpression(parent)) return (parent.arguments?.length ?? 0) === 0;
  if (isPropertyAccessExpression(parent)) return !["parse", "UTC", "now"].includes(parent.name.text);
  return parent.kind !== SyntaxKind.TypeReference && !isInstanceofRight(node);
};

const isInstanceofRight = ({ parent }: Node): boolean =>
  parent.kind === SyntaxKind.BinaryExpression &&
  nodesOf(parent).some(({ kind }) => kind === SyntaxKind.InstanceOfKeyword);

/** Only a call runs a handler; naming the method in a declaration does not. */
const isCalled = ({ node }: Use): boolean => {
  const access = node.parent;
  if (!isPropertyAccessExpression(access) && !isElementAccessExpression(access)) return true;
  return isCallExpression(access.parent) && access.parent.expression === access;
};

const isStatusName = /^status(_?code)?$/i;
const httpWords = (file: string, sources: Sources): readonly number[] => {
  const tree = sources.tree(file);
  return nodesOf(tree)
    .filter((node) => {
      if (isNumericLiteral(node) && /^32[0-9]{3}$/.test(node.text)) return true;
      if (!isPropertyAssignment(node)) return false;
      const key = isIdentifier(node.name) || isStringLiteral(node.name) ? node.name.text : "";
      if (key === "jsonrpc") return true;
      return (
        isStatusName.test(key) &&
        isNumericLiteral(node.initializer) &&
        /^[1-5]\d\d$/.test(node.initializer.text)
      );
    })
    .map((node) => lineOf(tree, node));
};

const both =
  (...finders: readonly Rule["finds"][]): Rule["finds"] =>
  (file, sources) =>
    finders.flatMap((find) => find(file, sources));

export const rules: readonly Rule[] = [
  {
    name: "no-clock",
    holds: (file) => programsAndClients(file) && !isLib(file) && !isMain(file),
    finds: uses(
      {
        lib: ["Date", "now"],
        "node:perf_hooks": ["performance", "now", "timeOrigin"],
        "node:process": ["hrtime", "uptime", "bigint"],
        "node:os": ["uptime"],
      },
      readsClock,
    ),
  },
  {
    name: "no-random",
    holds: (file) =>
      programsAndClients(file) &&
      !isLib(file) &&
      !isMain(file) &&
      except({ "cli:owner/key.ts": "makes the owner's key and seals it" })(file),
    finds: uses({
      lib: ["random"],
      "node:crypto": [
        "randomBytes",
        "randomFill",
        "randomFillSync",
        "randomInt",
        "randomUUID",
        "randomUUIDv7",
        "getRandomValues",
        "generateKey",
        "generateKeySync",
        "generateKeyPair",
        "generateKeyPairSync",
        "webcrypto",
      ],
      "node:web-globals/crypto": ["*"],
    }),
  },
  {
    name: "no-timer",
    holds: (file) =>
      programsAndClients(file) &&
      !isLib(file) &&
      except({
        "launcher:postgres/program.ts": "a socket's own idle limit, while asking whether Postgres answers",
      })(file),
    finds: uses({
      "node:timers": ["setTimeout", "setInterval"],
      "node:timers/promises": ["*"],
      "node:web-globals/abortcontroller": ["timeout"],
      "node:net": ["setTimeout"],
      "node:http": ["setTimeout"],
    }),
  },
  {
    name: "no-environment",
    holds: (file) =>
      programs(file) &&
      !isMain(file) &&
      except({
        "launcher:programs/launcher-program.ts": "makes the environment of the programs it starts",
        "launcher:programs/node-program.ts": "makes the environment of the programs it starts",
      })(file),
    finds: uses({ "node:process": ["env", "loadEnvFile"] }),
  },
  {
    name: "no-sql",
    holds: (file) => programs(file) && !/\/store\//.test(file),
    // What a store made may be sent elsewhere, with the transaction it belongs to.
    finds: uses(
      { kysely: ["*"], pg: ["*"], "pg-types": ["*"], "pg-protocol": ["*"] },
      ({ from, name }) => from !== "kysely" || !["Compilable", "execute"].includes(name),
    ),
  },
  {
    name: "no-http",
    holds: (file) => speaksHttp(file) && !/^packages\/\w+\/src\/doors\//.test(file),
    finds: both(
      uses({
        hono: ["*"],
        "@hono/node-server": ["*"],
        "@modelcontextprotocol/server": ["*"],
        "@modelcontextprotocol/core": ["*"],
        "@modelcontextprotocol/hono": ["*"],
        ws: ["*"],
        "node:http": ["*"],
        "node:https": ["*"],
      }),
      httpWords,
    ),
  },
  {
    name: "no-run",
    holds: (file) =>
      control(file) && !/^packages\/control\/src\/(dispatch(\.ts|\/)|domain\/handler\.ts)/.test(file),
    finds: uses({ "packages/control/src/domain/handler.ts": ["run", "admit", "replay"] }, isCalled),
  },
  {
    name: "no-dialing",
    holds: (file) =>
      programs(file) &&
      except({
        "control:agents/connection.ts": "the agent's Unix socket",
        "gateway:proxy/upstream.ts": "the cell's ingress socket",
        "supervisor:cells/first-byte.ts": "the agent's Unix socket",
        "supervisor:layers/cell.ts": "the agent's Unix socket",
        "launcher:postgres/program.ts": "Postgres's Unix socket",
      })(file),
    finds: uses({
      "node:web-globals/fetch": ["fetch", "WebSocket", "EventSource"],
      "node:net": ["connect", "createConnection"],
      "node:tls": ["connect", "createSecurePair"],
      "node:http": ["request", "get"],
      "node:https": ["request", "get"],
      "node:http2": ["connect"],
      "node:dns": ["*"],
      "node:dns/promises": ["*"],
      "node:dgram": ["*"],
      undici: ["*"],
      "undici-types": ["fetch", "WebSocket", "EventSource", "request", "stream", "pipeline", "connect"],
    }),
  },
  {
    name: "no-starting",
    holds: (file) =>
      onTheHost("contract", "kit", "control", "supervisor", "launcher", "gateway", "sdk")(file) &&
      except({
        "supervisor:lib/run-program.ts": "the one way to start a program in the supervisor",
        "supervisor:lib/helper-service.ts": "the one program that stays: system calls that Node lacks",
        "supervisor:layers/cgroups.ts": "a trial needs a process to move",
        "launcher:host/command.ts": "the one way to run a command of the host",
        "launcher:host/lock.ts": "flock holds the lock as a program of its own",
        "launcher:programs/keeper.ts": "starts the programs",
      })(file),
    finds: uses({
      "node:child_process": ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"],
      "node:worker_threads": ["*"],
      "node:cluster": ["*"],
    }),
  },
  {
    name: "no-files",
    // Control's own files are read in lib/ and store/ (node id, migrations); volumes are the agents'.
    holds: (file) =>
      (speaksHttp(file) && !isLib(file) && !/\/store\//.test(file)) || inPackage("contract", "sdk")(file),
    finds: uses({ "node:fs": ["*"], "node:fs/promises": ["*"] }),
  },
  {
    name: "no-walking",
    // A cell's tree is never walked on the host. These two read directories of our own and of the kernel.
    holds: (file) => inPackage("supervisor")(file) && !isLib(file) && !/\/cgroups\//.test(file),
    finds: uses({
      "node:fs": ["readdir", "readdirSync", "opendir", "opendirSync", "glob", "globSync", "cp", "cpSync"],
      "node:fs/promises": ["readdir", "opendir", "glob", "cp"],
    }),
  },
  {
    name: "no-module-state",
    holds: inPackage("contract", "kit", "control", "supervisor", "launcher", "gateway", "sdk", "cli"),
    finds: findModuleState,
  },
];
