import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";

/** The data in `policy/`, each line with its reason. A file that does not fit stops the start. */
const reason = z.string().min(10);
const word = z.string().regex(/^[a-z0-9_]+$/);
const number = z.string().regex(/^0x[0-9a-f]{1,8}$/, "a hexadecimal number of at most 32 bits");

const seccompSchema = z.strictObject({
  about: z.string(),
  default: z.strictObject({ errno: z.literal("EPERM"), reason }),
  architectures: z.array(z.strictObject({ name: z.string(), reason })).min(1),
  allowed: z.array(z.strictObject({ allow: z.array(word).min(1), reason })).min(1),
  rules: z.array(
    z.strictObject({
      allow: z.array(word).min(1),
      when: z
        .array(
          z.strictObject({
            argument: z.number().int().min(0).max(5),
            mask: number.optional(),
            equals: number,
          }),
        )
        .min(1),
      reason,
    }),
  ),
  denied: z.array(z.strictObject({ deny: z.array(word).min(1), errno: z.enum(["EPERM", "ENOSYS"]), reason })),
});

const capability = z.strictObject({ name: z.string().regex(/^CAP_[A-Z_]+$/), reason });
const capabilitiesSchema = z.strictObject({
  about: z.string(),
  granted: z.array(capability),
  absent: z.array(capability),
});

const path = z.strictObject({ path: z.string().regex(/^\/(proc|sys)\//), reason });
const pathsSchema = z.strictObject({
  about: z.string(),
  masked: z.array(path).min(1),
  readonly: z.array(path).min(1),
});

export interface Policy {
  readonly seccomp: z.output<typeof seccompSchema>;
  readonly capabilities: z.output<typeof capabilitiesSchema>;
  readonly paths: z.output<typeof pathsSchema>;
}

/** Throws naming the file that is missing, damaged or contradicts itself. */
export const readPolicy = async (directory: string): Promise<Policy> => {
  const read = async <T extends z.ZodType>(name: string, schema: T): Promise<z.output<T>> => {
    const file = `${directory}/${name}`;
    try {
      return schema.parse(JSON.parse(await readFile(file, "utf8")));
    } catch (cause) {
      throw new Error(`${file} cannot be used as policy; no cell starts without it.`, { cause });
    }
  };
  const policy = {
    seccomp: await read("seccomp.json", seccompSchema),
    capabilities: await read("capabilities.json", capabilitiesSchema),
    paths: await read("paths.json", pathsSchema),
  };
  refuseContradictions(policy);
  return policy;
};

/** Changes whenever a new cell would be held by other rules, or run another agent, than one that was started before. */
export const digestOf = async (policy: Policy, agent: string): Promise<string> =>
  createHash("sha256")
    .update(JSON.stringify(policy))
    .update("\0")
    .update(await readFile(agent))
    .digest("hex");

const refuseContradictions = ({ seccomp, capabilities }: Policy): void => {
  const allowed = new Set([...seccomp.allowed, ...seccomp.rules].flatMap((line) => line.allow));
  const both = seccomp.denied.flatMap((line) => line.deny).filter((name) => allowed.has(name));
  if (both.length > 0) throw new Error(`policy/seccomp.json both allows and denies ${both.join(", ")}.`);
  const unconditional = new Set(seccomp.allowed.flatMap((line) => line.allow));
  const mixed = seccomp.rules.flatMap((line) => line.allow).filter((name) => unconditional.has(name));
  if (mixed.length > 0)
    throw new Error(`policy/seccomp.json allows ${mixed.join(", ")} with and without conditions.`);
  const granted = new Set(capabilities.granted.map((line) => line.name));
  const absent = capabilities.absent.filter((line) => granted.has(line.name));
  if (absent.length > 0)
    throw new Error(
      `policy/capabilities.json both grants and withholds ${absent.map((line) => line.name).join(", ")}.`,
    );
};
