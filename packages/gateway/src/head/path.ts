/**
 * Two readings of a request's path, so that no app sees another one than the rule was judged on. `dotted`: it holds a segment that
 * means "this" or "parent" once decoded; browsers never send one. `plain`: nothing in it can be read as another path, by decoding it once
 * or twice, by cutting parameters off, or by merging slashes; only a plain path is held against a rule about a part of a project.
 */
export const isDotted = (path: string): boolean =>
  (path.includes("/.") || path.includes("/%")) && /\/(\.|%2e){1,2}(\/|$)/i.test(path);

/** Encoded (also more than once): dots, slashes, backslashes, semicolons, NUL, overlong forms. As they are: the same. */
const ambiguous = /%(25)*(2e|2f|5c|3b|00|c0|c1|u)|\/\/|\\|;|\/\.\.?(\/|$)/i;

export const isPlain = (path: string): boolean => !ambiguous.test(path);

/** With every escape of an ASCII character decoded, once: what a path or URL may be read as. All else stays as it is. */
export const decodeAscii = (text: string): string =>
  text.replaceAll(/%([0-7][0-9a-f])/gi, (_match, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
