/** Headers by which an app speaks to caches between it and the visitor, beside Cache-Control. */
export const forSharedCaches: ReadonlySet<string> = new Set(["cdn-cache-control", "surrogate-control"]);

/**
 * What Cache-Control says of an answer that was let in by a right: whatever the app says to everybody's caches, only the visitor's own may
 * keep it. `value` is undefined when the app says nothing.
 */
export const privateCaching = (value: string | undefined): string => {
  const kept = (value ?? "")
    .split(",")
    .map((directive) => directive.trim())
    .filter(
      (directive) =>
        directive !== "" && !/^(?:public|private|s-maxage|proxy-revalidate)(?:\s*=|$)/i.test(directive),
    );
  return kept.some((directive) => directive.toLowerCase() === "no-store")
    ? kept.join(", ")
    : ["private", ...kept].join(", ");
};
