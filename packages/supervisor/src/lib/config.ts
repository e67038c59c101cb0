import { parseArgs } from "node:util";
import { instancePattern } from "@holdfast/contract";
import { z } from "zod";

const idsPerComputer = 65_536;

const id = z.coerce
  .number()
  .int()
  .nonnegative()
  .max(2 ** 32 - 2);
const absolute = z.string().regex(/^\/[^,:\n]*$/, "an absolute path without comma, colon or newline");

/** How one supervisor was started. Everything is required unless it says otherwise: a missing value must not become a weaker one. */
const schema = z
  .object({
    instance: z.string().regex(instancePattern),
    /** Stands in every host-wide name of this instance: namespaces, cgroups, links. */
    "short-id": z.string().regex(/^[a-z0-9]{1,5}$/),
    /** Where the btrfs pool is mounted. */
    pool: absolute,
    /** The image that new computers get. */
    image: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,127}$/),
    /** First host id of the block from which each computer gets 65,536. */
    "uid-base": id.refine(
      (value) => value % idsPerComputer === 0 && value > 0,
      "a multiple of 65,536 above 0",
    ),
    "uid-count": id.refine(
      (value) => value % idsPerComputer === 0 && value > 0,
      "a multiple of 65,536 above 0",
    ),
    "control-gid": id,
    "gateway-gid": id,
    agent: absolute,
    run: absolute,
    /** Defaults to the runtime of the distribution. */
    runtime: absolute.default("/usr/bin/crun"),
    /** Tests that act out a reboot give another one; else the kernel's. */
    "boot-id": z.string().min(1).optional(),
    /** Where `policy/` is; defaults to the one of this tree. */
    policy: absolute.default(new URL("../../../../policy", import.meta.url).pathname),
  })
  .transform((flags) => ({
    instance: flags.instance,
    shortId: flags["short-id"],
    pool: flags.pool,
    image: flags.image,
    uidBase: flags["uid-base"],
    slots: flags["uid-count"] / idsPerComputer,
    idsPerComputer,
    controlGid: flags["control-gid"],
    gatewayGid: flags["gateway-gid"],
    agent: flags.agent,
    run: flags.run,
    runtime: flags.runtime,
    bootId: flags["boot-id"],
    policy: flags.policy,
  }));

export type Config = z.output<typeof schema>;

/** Throws with every flag that does not fit. */
export const parseConfig = (argv: readonly string[]): Config => {
  const names = [
    "instance",
    "short-id",
    "pool",
    "image",
    "uid-base",
    "uid-count",
    "control-gid",
    "gateway-gid",
    "agent",
    "run",
    "runtime",
    "boot-id",
    "policy",
  ];
  const { values } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(names.map((name) => [name, { type: "string" as const }])),
  });
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => `--${issue.path.join(".")}: ${issue.message}`);
  throw new Error(
    `The supervisor's flags do not fit: ${issues.join("; ")}. See packages/supervisor/README.md.`,
  );
};
