import { HoldfastError, type PublicRule } from "@holdfast/contract";

/**
 * What RFC 3986 allows in a path's segments, without `*` and without `;`, after which servers read parameters. `%` is looked at below.
 */
const plain = /^[A-Za-z0-9\-._~!$&'()+,=:@%/]*$/;
/**
 * What can only be written escaped: all else has a plain form, and two forms of one path are a way around a rule. Not the backslash, which
 * some take for a slash, nor C0 and C1, which begin overlong forms: gateway holds such paths against no rule.
 */
const escapable = /^[\x80-\xbf\xc2-\xff "<>^`{|}[\]*]$/;
/** gateway's own part of every origin. No request to it reaches a project. */
const reserved = /^\/\.holdfast(\/|$)/;

/**
 * Throws `invalid_input` with the place of the first rule whose path could be read in more than one way: dot segments, empty segments, a
 * query, escapes of what can be written plainly (`%2e`, `%2f`, `%25`), control characters.
 */
export const checkRules = (rules: readonly PublicRule[]): void => {
  for (const [index, { path }] of rules.entries()) {
    const message = faultOf(path);
    if (message !== undefined)
      throw new HoldfastError("invalid_input", `rules[${index}].path: ${message}`, {
        issues: [{ path: ["rules", index, "path"], message }],
      });
  }
};

const faultOf = (path: string): string | undefined => {
  const fixed = path.endsWith("*") ? path.slice(0, -1) : path;
  if (fixed.includes("*")) return "`*` stands at the end only";
  if (!fixed.startsWith("/")) return "a path begins with `/`";
  if (/[?#]/.test(fixed)) return "a path has no query and no fragment; a rule holds for every query";
  if (!plain.test(fixed)) return "other characters than those of a URL's path; escape them as %XX";
  for (const escape of fixed.match(/%.{0,2}/g) ?? []) {
    if (!/^%[0-9A-F]{2}$/.test(escape)) return `${escape} is no escape; write %XX in upper case`;
    if (!escapable.test(String.fromCharCode(Number.parseInt(escape.slice(1), 16))))
      return `${escape} stands for a character that is written plainly or not at all`;
  }
  if (fixed.includes("//")) return "empty segments";
  if (fixed.split("/").some((segment) => segment === "." || segment === ".."))
    return "dot segments: write the path as it is";
  if (reserved.test(fixed)) return "/.holdfast/ is not the project's own";
  return undefined;
};
