import { command } from "./command.ts";

/**
 * Removes a tree in which others than root may change names meanwhile, and nothing that is mounted in it. Not Node's own way, which looks at
 * a name and then goes by that name once more: a directory that became a link in between leads it wherever that points.
 */
export const removeTree = async (path: string): Promise<void> => {
  await command(["rm", "-rf", "--one-file-system", "--", path]);
};
