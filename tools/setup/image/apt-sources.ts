import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** One archive that the host's apt reads. */
export interface AptSource {
  readonly uri: string;
  readonly suite: string;
}

/**
 * Lines for the image's suite from the mirrors that this host uses, whatever its own release: the main archive with its updates, and
 * the security archive. Throws when the host's apt knows no Debian archive.
 */
export const sourcesForSuite = (
  host: readonly AptSource[],
  hostSuite: string,
  suite: string,
  components: readonly string[],
): string => {
  const main = host.find((source) => source.suite === hostSuite || source.suite === "stable");
  const security = host.find((source) => /^[a-z]+(-security|\/updates)$/.test(source.suite));
  if (!main) {
    throw new Error(
      `The host's apt (/etc/apt) names no Debian archive for ${hostSuite}; the base image is built from the mirror it names. Add one.`,
    );
  }
  const line = (uri: string, of: string): string => `deb ${uri} ${of} ${components.join(" ")}\n`;
  return [
    line(main.uri, suite),
    line(main.uri, `${suite}-updates`),
    ...(security ? [line(security.uri, `${suite}-security`)] : []),
  ].join("");
};

/** Every enabled `deb` archive in /etc/apt. */
export const readAptSources = async (directory = "/etc/apt"): Promise<readonly AptSource[]> => {
  const parts = (await readdir(join(directory, "sources.list.d")).catch((): string[] => [])).sort();
  const files = [
    join(directory, "sources.list"),
    ...parts.map((name) => join(directory, "sources.list.d", name)),
  ];
  const sources: AptSource[] = [];
  for (const file of files) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (file.endsWith(".list")) sources.push(...parseOneLine(text));
    else if (file.endsWith(".sources")) sources.push(...parseDeb822(text));
  }
  return sources;
};

export const parseOneLine = (text: string): readonly AptSource[] =>
  text
    .split("\n")
    .map((line) => /^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)/.exec(line))
    .flatMap((match) => (match?.[1] && match[2] ? [{ uri: match[1], suite: match[2] }] : []));

export const parseDeb822 = (text: string): readonly AptSource[] =>
  text.split(/\n\s*\n/).flatMap((stanza) => {
    const fields = new Map<string, string>();
    let last = "";
    for (const line of stanza.split("\n").filter((each) => !each.startsWith("#"))) {
      const [, name, value] = /^([A-Za-z-]+):\s*(.*)$/.exec(line) ?? [];
      if (name !== undefined) {
        last = name.toLowerCase();
        fields.set(last, value ?? "");
      } else fields.set(last, `${fields.get(last) ?? ""} ${line.trim()}`);
    }
    const words = (name: string): readonly string[] =>
      (fields.get(name) ?? "").split(/\s+/).filter((word) => word !== "");
    if (!words("types").includes("deb") || fields.get("enabled")?.trim().toLowerCase() === "no") return [];
    return words("uris").flatMap((uri) => words("suites").map((suite) => ({ uri, suite })));
  });
