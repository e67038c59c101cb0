import { type PublicRule, wholePath } from "@holdfast/contract";
import { isPlain } from "../head/path.ts";

/**
 * The rule by which a request needs no right; undefined when there is none. A rule about a part of the project is held against a plain
 * path only, byte by byte: whatever could be read as another path stays private. GET includes HEAD.
 */
export const matchRule = (
  published: readonly PublicRule[] | null,
  method: string,
  path: string,
): PublicRule | undefined => {
  if (published === null) return undefined;
  return published.find((rule) => matchesMethod(rule, method) && matchesPath(rule.path, path));
};

const matchesMethod = ({ methods }: PublicRule, method: string): boolean =>
  methods === null || methods.includes(method) || (method === "HEAD" && methods.includes("GET"));

const matchesPath = (rule: string, path: string): boolean => {
  if (rule === wholePath) return true;
  if (!isPlain(path)) return false;
  return rule.endsWith("*") ? path.startsWith(rule.slice(0, -1)) : path === rule;
};
