import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { instancePattern, limits } from "@holdfast/contract";
import { writeDurably } from "@holdfast/kit";

/** How visitors reach projects; see the flags of `up`. */
const projectsSettings = z.object({
  /** `address:port` of each of gateway's listeners; at least one. */
  listen: z.array(z.string()).min(1),
  /** Projects are `<slug>.<domain>`: lower case, without a port. */
  domain: z.string(),
  /** Origin that people are told, without the slug, where a proxy stands in front; null: made of domain and first listener. */
  address: z.url().nullable(),
  /** PEM files of the operator's; null: plain HTTP. */
  certificate: z.object({ chain: z.string().startsWith("/"), key: z.string().startsWith("/") }).nullable(),
  /** `address:port` on loopback where a TLS proxy asks for which names it may get a certificate. */
  ask: z.string(),
});

/** What one instance is, in `<data>/instance.json`. Written by set-up; the launcher only reads it. */
export const instanceSettings = z.object({
  version: z.literal(1),
  instance: z.string().regex(instancePattern),
  /** Four characters in every host-wide name of the instance: links, namespaces, cgroups. */
  short_id: z.string().regex(/^[a-z][a-z0-9]{3}$/),
  data: z.string().startsWith("/"),
  uid_base: z.number().int().positive(),
  uid_count: z.number().int().positive(),
  /** `address:port` of each HTTP listener of control; at least one. */
  listen: z.array(z.string()).min(1),
  /** Host names accepted besides those of the listeners; empty means none. */
  allow_hosts: z.array(z.string()),
  /** Bytes asked for the pool when it was made. */
  pool_bytes: z.number().int().nonnegative(),
  /** Digest of the recipe of the image that new computers get; null before there is one. */
  image: z.string().nullable(),
  /** The agent binary, root-owned and outside the clone. */
  agent: z.string().startsWith("/"),
  /** The program tree that is bound read-only. */
  source: z.string().startsWith("/"),
  /** `private`: a cluster of our own. `url`: a shared server, its URL in `<data>/database-url` (0600). */
  database: z.enum(["private", "url"]),
  /** Absent: set up before projects had addresses. No gateway runs until the next `up`. */
  projects: projectsSettings.optional(),
  /** Blank cells that are kept started. Absent: as many as the host has room for (`warmCells`). */
  warm: z.number().int().min(0).max(limits.warmCells).optional(),
});

export type InstanceSettings = z.output<typeof instanceSettings>;
export type ProjectsSettings = z.output<typeof projectsSettings>;

export const readSettings = async (data: string): Promise<InstanceSettings | undefined> => {
  const path = settingsPath(data);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  const parsed = instanceSettings.safeParse(JSON.parse(text));
  if (!parsed.success) {
    throw new Error(
      `${path} does not fit: ${z.prettifyError(parsed.error)}. Move it away and run \`holdfast up\` again.`,
    );
  }
  return parsed.data;
};

/** Whether it had to be written. */
export const writeSettings = async (settings: InstanceSettings): Promise<boolean> => {
  const content = `${JSON.stringify(settings, null, 2)}\n`;
  const path = settingsPath(settings.data);
  const before = await readFile(path, "utf8").catch(() => "");
  if (before === content) return false;
  await writeDurably(path, content);
  return true;
};

const settingsPath = (data: string): string => join(data, "instance.json");

/** The address that people and clients are told. */
export const publicAddress = (settings: InstanceSettings): string => {
  const [first = ""] = settings.listen;
  return `http://${first.replace(/^0\.0\.0\.0:/, "127.0.0.1:")}`;
};

/** The origin of projects without the slug, like `http://localhost:7301`: a project is `<slug>.` in front of its host. */
export const projectsAddress = ({ address, certificate, domain, listen }: ProjectsSettings): string => {
  if (address !== null) return new URL(address).origin;
  const port = listen[0]?.split(":")[1] ?? "";
  return new URL(`${certificate ? "https" : "http"}://${domain}:${port}`).origin;
};
