import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import { controlLauncherMethods, type OperationInput, socketPath } from "@holdfast/contract";
import { createRpcClient, systemClock } from "@holdfast/kit";
import { type ProgramStatus, readSettings } from "@holdfast/launcher";
import { createClient, type HoldfastClient } from "@holdfast/sdk";
import { root } from "../../tools/node24.mjs";
import { compileCache } from "./compile-cache.ts";
import { onInterruption } from "./interruption.ts";
import { leftovers } from "./leaks.ts";
import { readPrograms } from "./programs.ts";
import { until } from "./until.ts";

/** Name of the instance that a whole test run shares; the runner sets it and takes the instance down at the end. */
const sharedName = process.env["HOLDFAST_TEST_INSTANCE"];

export interface Assistant {
  readonly id: string;
  readonly keyId: string;
  readonly secret: string;
  readonly client: HoldfastClient;
  /** A client that never repeats a request by itself. */
  readonly once: HoldfastClient;
}

/** A running Holdfast as `holdfast up` makes it, and what a test needs to use it as owner, assistant and operator. */
export interface Instance {
  readonly name: string;
  readonly data: string;
  readonly url: string;
  readonly port: number;
  /** Where visitors come in: `url` with a Host header of `<slug>.<domain>`; `ask` for a TLS proxy. */
  readonly projects: {
    readonly domain: string;
    readonly port: number;
    readonly url: string;
    readonly ask: string;
  };
  readonly shortId: string;
  readonly uids: { readonly base: number; readonly count: number };
  /** The owner's client, its session confirmed just now. */
  owner(): Promise<HoldfastClient>;
  ownerToken(): Promise<string>;
  /** A new assistant with a key of its own. */
  assistant(ceilings?: OperationInput<"key.create">["ceilings"]): Promise<Assistant>;
  programs(): Promise<Readonly<Record<string, ProgramStatus>>>;
  /** `holdfast up` again, with these additions to its environment and flags. */
  up(environment?: Readonly<Record<string, string>>, flags?: readonly string[]): Promise<void>;
  /** Runs what the systemd unit runs, and starts it again a second after it failed, as the unit does, until `down`. */
  keepUp(): void;
  down(options?: { readonly deleteData: boolean }): Promise<void>;
  /** Everything of computers on the host that belongs to none of these. */
  leftovers(computers: readonly string[]): Promise<readonly string[]>;
}

/**
 * The instance of this run, up by the time this resolves. Call at the top of a file: registers the file's leak check, and takes the
 * instance down after the file when no runner keeps it for the next one.
 */
export const useInstance = (): Promise<Instance> => {
  const name = sharedName ?? `t${process.pid.toString(36)}`;
  const opened = openInstance(name);
  after(async () => {
    const instance = await opened;
    try {
      await checkLeaks(instance);
    } finally {
      if (sharedName === undefined) await instance.down({ deleteData: true });
    }
  });
  return opened;
};

/** An instance for one file that kills programs or the like; `environment` goes with every `up`. Taken down with its data afterwards, whatever happened. */
export const usePrivateInstance = (
  label: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Instance> => {
  const opened = openInstance(`${label}-${process.pid.toString(36)}`.slice(0, 16), environment, pools.small);
  after(async () => {
    const instance = await opened;
    await instance.down({ deleteData: true });
    const left = await instance.leftovers([]);
    if (left.length > 0) throw new Error(`after \`down\` there is left: ${left.join("; ")}`);
  });
  return opened;
};

/** Destroys what tests have left, and throws when something is on the host that belongs to no computer. */
const checkLeaks = async (instance: Instance): Promise<void> => {
  const owner = await instance.owner();
  const list = await owner.computers.list({ limit: 200 });
  await Promise.all(list.computers.map(({ id }) => owner.computers.destroy({ computer: id })));
  let left: readonly string[] = [];
  await until(
    "nothing is left of destroyed computers",
    async () => {
      left = await instance.leftovers([]);
      return left.length === 0;
    },
    { withinMs: 20_000, detail: () => left.join("; ") },
  );
};

/** Taken from the host's disk in full, by several instances at a time. A shared one has room for disks that are filled; others need little. */
const pools = { roomy: "10G", small: "3G" } as const;

/** An instance that the caller takes down. */
export const openInstance = async (
  name: string,
  always: Readonly<Record<string, string>> = {},
  poolSize: string = pools.roomy,
): Promise<Instance> => {
  const data = `/var/lib/holdfast-${name}`;
  const flags = ["--instance", name, "--data", data];
  const pool = ["--pool-size", poolSize];
  const up: Instance["up"] = async (environment = {}, more = []) => {
    await holdfast(["up", "--bare", ...pool, ...flags, ...more], { ...always, ...environment });
  };
  const units: { stop(): Promise<void> }[] = [];
  let forget = (): void => undefined;
  const down: Instance["down"] = async (options) => {
    // Else they would bring up again what is to go.
    for (const unit of units.splice(0)) await unit.stop();
    await holdfast(["down", ...flags, ...(options?.deleteData ? ["--delete-data", name] : [])]);
    if (options?.deleteData) forget();
  };
  // The shared one is its runner's to take down.
  if (sharedName !== name) forget = onInterruption(() => down({ deleteData: true }));
  try {
    // A file of the run finds it up; one that has taken something of it down has it brought back.
    if (sharedName !== name || !(await serves(data))) await up();
  } catch (error) {
    if (sharedName !== name) await down({ deleteData: true }).catch(() => undefined);
    throw error;
  }
  const settings = await readSettings(data);
  if (!settings?.projects) throw new Error(`${data} holds no settings of an instance with projects`);
  const { projects } = settings;
  const [address = ""] = settings.listen;
  const url = `http://${address}`;
  const [projectsAddress = ""] = projects.listen;
  const ownerFile = join(data, "test-owner.json");

  const firstOwner = async (): Promise<Owner> => {
    const known = await readOwner(ownerFile);
    const owner = known ?? (await enrol(name, url));
    if (!known) await writeFile(ownerFile, JSON.stringify(owner), { mode: 0o600 });
    return owner;
  };
  // Once for all that ask at the same time: a newer code makes the one before worthless.
  let enrolled: Promise<Owner> | undefined;
  const ownerToken = async (): Promise<string> => {
    const { token, passphrase } = await (enrolled ??= firstOwner().catch((error: unknown) => {
      enrolled = undefined;
      throw error;
    }));
    await createClient({ baseUrl: url, token, retries: 8 }).sessions.confirm({ passphrase });
    return token;
  };
  const owner = async (): Promise<HoldfastClient> =>
    createClient({ baseUrl: url, token: await ownerToken(), retries: 8 });

  return {
    name,
    data,
    url,
    port: Number(address.split(":")[1]),
    projects: {
      domain: projects.domain,
      port: Number(projectsAddress.split(":")[1]),
      url: `http://${projectsAddress}`,
      ask: `http://${projects.ask}`,
    },
    shortId: settings.short_id,
    uids: { base: settings.uid_base, count: settings.uid_count },
    owner,
    ownerToken,
    assistant: async (ceilings = {}) => {
      const made = await (await owner()).keys.create({
        name: `a-${randomBytes(6).toString("hex")}`,
        ceilings: { computers: 100, disk_bytes: 10_000 * 1024 ** 3, largest_size: "large", ...ceilings },
      });
      return {
        id: made.key.assistant,
        keyId: made.key.id,
        secret: made.secret,
        client: createClient({ baseUrl: url, token: made.secret }),
        once: createClient({ baseUrl: url, token: made.secret, retries: 0 }),
      };
    },
    programs: async () =>
      Object.fromEntries((await readPrograms(settings)).map((program) => [program.name, program])),
    up,
    keepUp: () => void units.push(keepUp(["run", ...pool, ...flags], always)),
    down,
    leftovers: (computers) =>
      leftovers(
        {
          instance: name,
          shortId: settings.short_id,
          pool: join(data, "pool/fs"),
          run: `/run/holdfast/${name}`,
          uidBase: settings.uid_base,
          uidCount: settings.uid_count,
        },
        { computers },
      ),
  };
};

/** Whether the control of this instance says that all is ready. */
const serves = async (data: string): Promise<boolean> => {
  try {
    const settings = await readSettings(data);
    const answer = await fetch(`http://${settings?.listen[0]}/healthz`);
    return ((await answer.json()) as { readonly ready: boolean }).ready;
  } catch {
    return false;
  }
};

interface Owner {
  readonly token: string;
  readonly passphrase: string;
}

const readOwner = async (path: string): Promise<Owner | undefined> => {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Owner);
};

/** The first owner, by the one-time code that only root of the host can mint. */
const enrol = async (instance: string, url: string): Promise<Owner> => {
  const launcher = createRpcClient({
    path: socketPath(instance, "control", "launcher"),
    methods: controlLauncherMethods,
    clock: systemClock,
  });
  const { code } = await launcher.call("owner.login_code", {});
  launcher.close();
  const passphrase = randomBytes(16).toString("hex");
  const { token } = await createClient({ baseUrl: url }).sessions.enrol({
    code,
    passphrase,
    public_key: randomBytes(32).toString("base64url"),
    sealed_key: randomBytes(64).toString("base64url"),
  });
  return { token, passphrase };
};

const keepUp = (
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): { stop(): Promise<void> } => {
  const stopped = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const unit = start(argv, environment, "ignore");
      const end = (): void => void unit.kill("SIGTERM");
      stopped.signal.addEventListener("abort", end, { once: true });
      const [code] = (await once(unit, "exit")) as [number | null];
      stopped.signal.removeEventListener("abort", end);
      if (code === 0) return;
      await systemClock.sleep(1000, stopped.signal).catch(() => {});
    }
  };
  const running = loop();
  return {
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
};

const start = (
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
  output: "pipe" | "ignore",
): ChildProcess =>
  spawn(process.execPath, [join(root, "bin/holdfast.mjs"), ...argv], {
    // A home of its own: what `up` writes for its user is no business of the person who runs the tests.
    env: {
      PATH: process.env["PATH"],
      HOME: "/nonexistent",
      XDG_CONFIG_HOME: testHome,
      ...compileCache(),
      ...environment,
    },
    stdio: ["ignore", output, output],
  });

const holdfast = (
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = start(argv, environment, "pipe");
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`holdfast ${argv.join(" ")} ended with ${code}:\n${stderr}${stdout}`));
    });
  });

const testHome = "/run/holdfast-test-home";
