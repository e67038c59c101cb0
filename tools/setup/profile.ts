import { mkdir, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { z } from "zod";
import { command, publicAddress, type InstanceSettings } from "@holdfast/launcher";
import { writeDurably } from "@holdfast/kit";

const profileSchema = z.looseObject({
  version: z.literal(1),
  current: z.string(),
  contexts: z.record(z.string(), z.looseObject({ url: z.string(), key_file: z.string() })),
});

export interface Profile {
  readonly keyFile: string;
  /** The context that verbs use when none is named; not always the one of this instance. */
  readonly current: string;
}

/**
 * Writes the address and the assistant's key where the CLI of the person who ran `up` finds them (with sudo: that user's home): a
 * context named like the instance, the key in a file of its own, all 0600. Other contexts stay, and so does the one in use.
 */
export const writeProfile = async (settings: InstanceSettings, key: string): Promise<Profile> => {
  const person = await invokingUser();
  return as(person, () => writeInto(join(person.configuration, "holdfast"), settings, key));
};

/**
 * Takes the context of a deleted instance and its key away again. Answers the contexts among which one must be chosen now: if it was the
 * one in use, none is, for the next verb may destroy something. Empty when nothing is to be chosen.
 */
export const removeFromProfile = async (instance: string): Promise<readonly string[]> => {
  const person = await invokingUser();
  return as(person, () => removeFrom(join(person.configuration, "holdfast"), instance));
};

/** As `removeFromProfile`, in this directory and with our rights. */
export const removeFrom = async (directory: string, instance: string): Promise<readonly string[]> => {
  await rm(join(directory, "keys", `${instance}.key`), { force: true });
  const path = join(directory, "config.json");
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return [];
  const profile = profileSchema.parse(JSON.parse(text));
  const { [instance]: removed, ...kept } = profile.contexts;
  if (!removed) return [];
  const left = Object.keys(kept);
  if (left.length === 0) await rm(path);
  else await writeDurably(path, `${JSON.stringify({ ...profile, contexts: kept }, null, 2)}\n`);
  return profile.current === instance ? left : [];
};

/** With the rights and groups of that user alone: a home directory may hold links that root must not follow. */
export const as = async <T>(
  person: { readonly uid: number; readonly gid: number },
  work: () => Promise<T>,
): Promise<T> => {
  const groups = process.getgroups?.() ?? [];
  if (person.uid !== 0) process.initgroups?.(person.uid, person.gid);
  process.setegid?.(person.gid);
  process.seteuid?.(person.uid);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
};

/** As `writeProfile`, into this directory and with our rights. */
export const writeInto = async (
  directory: string,
  settings: InstanceSettings,
  key: string,
): Promise<Profile> => {
  const keys = join(directory, "keys");
  await mkdir(keys, { recursive: true, mode: 0o700 });
  const write = async (path: string, content: string): Promise<void> => {
    if ((await readFile(path, "utf8").catch(() => "")) !== content) await writeDurably(path, content);
  };
  const keyFile = join(keys, `${settings.instance}.key`);
  await write(keyFile, `${key}\n`);
  const path = join(directory, "config.json");
  const before = await readFile(path, "utf8").catch(() => undefined);
  const profile: unknown =
    before === undefined ? { version: 1, current: settings.instance, contexts: {} } : JSON.parse(before);
  const { contexts, ...others } = profileSchema.parse(profile);
  // One that was removed while in use leaves nothing in use.
  const rest = Object.keys(contexts).length === 0 ? { ...others, current: settings.instance } : others;
  const context = {
    ...contexts[settings.instance],
    url: publicAddress(settings),
    key_file: `keys/${settings.instance}.key`,
  };
  await write(
    path,
    `${JSON.stringify({ ...rest, contexts: { ...contexts, [settings.instance]: context } }, null, 2)}\n`,
  );
  return { keyFile, current: rest.current };
};

/** Who called us, with sudo or without. Throws when there is no home to write into. */
export const invokingUser = async (
  environment: Readonly<Record<string, string | undefined>> = process.env,
  lookUp: (uid: string) => Promise<string> = (uid) => command(["getent", "passwd", uid]),
): Promise<{ readonly uid: number; readonly gid: number; readonly configuration: string }> => {
  const { SUDO_UID, SUDO_GID, XDG_CONFIG_HOME } = environment;
  if (!SUDO_UID || !SUDO_GID)
    return { uid: 0, gid: 0, configuration: XDG_CONFIG_HOME || join(homedir(), ".config") };
  const home = (await lookUp(SUDO_UID)).split(":")[5] ?? "";
  if (!home.startsWith("/"))
    throw new Error(`The user ${SUDO_UID} has no home directory to write a profile into.`);
  return { uid: Number(SUDO_UID), gid: Number(SUDO_GID), configuration: join(home, ".config") };
};
