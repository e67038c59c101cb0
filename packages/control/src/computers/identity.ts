import { type Agent, AgentFault } from "../domain/agents.ts";

/**
 * What a copy of a disk must not share with the original; whoever needs it makes it anew. Machine id and host name are not among it: they
 * come from the computer's id, outside the disk.
 */
const folder = "/etc/ssh";
const hostKey = /^ssh_host_[A-Za-z0-9_]+_key(\.pub)?$/;
const others: readonly string[] = ["/var/lib/systemd/random-seed", "/var/lib/dbus/machine-id"];
/** More than a real one has, and a page of the agent's answer. */
const entriesLooked = 1000;

/** Deletes what makes a machine itself. May be repeated; what is not there is fine. */
export const renewIdentity = async (agent: Agent): Promise<void> => {
  for (const path of [...(await hostKeys(agent)), ...others]) await remove(agent, path);
};

const hostKeys = async (agent: Agent): Promise<readonly string[]> => {
  try {
    const { entries } = await agent.plain("files.list", { path: folder, limit: entriesLooked });
    return entries.filter(({ name }) => hostKey.test(name)).map(({ name }) => `${folder}/${name}`);
  } catch (error) {
    if (isFault(error)) return [];
    throw error;
  }
};

const remove = async (agent: Agent, path: string): Promise<void> => {
  try {
    await agent.plain("files.delete", { path, recursive: false });
  } catch (error) {
    if (!isFault(error)) throw error;
  }
};

/** The disk is the computer's own: where it has made this impossible it harms itself. */
const isFault = (error: unknown): boolean => error instanceof AgentFault;
