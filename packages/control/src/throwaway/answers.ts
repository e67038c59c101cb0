import { createHash } from "node:crypto";
import { HoldfastError, limits } from "@holdfast/contract";
import { z } from "zod";
import { AgentUnreachable } from "../domain/agents.ts";
import type { Differences, Manifest, ManifestEntry } from "../domain/trees.ts";

/**
 * What the tool may answer. It ran beside files that want it to say something else, so all of it is checked as if those had: sizes, ranges,
 * and that each path is one that was asked for.
 */
const count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const digest = z.string().regex(/^[0-9a-f]{64}$/);
/** UTF-8 of 4,096 bytes, where each may have become a replacement character. */
const shownPath = z.string().max(3 * limits.pathBytes);

const refused = z.object({
  code: z.enum(["archive_refused", "file_not_found", "too_large", "limit_reached", "disk_full", "damaged"]),
  message: z.string().max(500),
  entry: shownPath.nullable(),
});

const envelope = z.object({ done: z.unknown().optional(), refused: refused.optional() });

export const diffAnswer = z
  .object({
    differences: z
      .array(
        z.object({
          path: shownPath,
          change: z.enum(["added", "changed", "removed"]),
          kind: z.enum(["file", "directory", "link", "other"]),
          size_before: count.nullable(),
          size_after: count.nullable(),
        }),
      )
      .max(limits.differencePage),
    added: count,
    changed: count,
    removed: count,
    truncated: z.boolean(),
    next: z
      .string()
      .max(2 * limits.pathBytes)
      .regex(/^[\w-]*$/)
      .nullable(),
  })
  .transform(
    ({ differences, ...rest }): Differences => ({
      ...rest,
      differences: differences.map(({ size_before, size_after, ...difference }) => ({
        ...difference,
        sizeBefore: size_before,
        sizeAfter: size_after,
      })),
    }),
  );

const plainText = z
  .string()
  .max(limits.pathBytes)
  .refine((text) => text.isWellFormed() && !text.includes("\0"), "plain text");

export const manifestAnswer = z.object({
  entries: z
    .array(
      z.object({
        path: plainText,
        kind: z.enum(["file", "directory", "link"]),
        mode: z.number().int().min(0).max(0o777),
        bytes: count.max(limits.offerBytes),
        digest: digest.nullable(),
        target: plainText.nullable(),
      }),
    )
    .max(limits.offerEntries),
});

export const packAnswer = z.object({ digest, bytes: count, entries: count, left_out: count });

export const unpackAnswer = z.object({
  entries: count,
  bytes: count,
  definitions: z
    .string()
    .max(16 * 1024 * 1024)
    .nullable(),
});

/** The last line is the answer. Throws what was refused; `cell_unreachable` for what is no answer. */
export const answerOf = <S extends z.ZodType>(output: Buffer, reply: S): z.output<S> => {
  const line = output.toString("utf8").trimEnd().split("\n").at(-1) ?? "";
  const said = envelope.safeParse(jsonOf(line));
  if (!said.success) throw broken(said.error.issues[0]?.message ?? "");
  if (said.data.refused) throw refusalOf(said.data.refused);
  const done = reply.safeParse(said.data.done);
  if (!done.success) throw broken(done.error.issues[0]?.message ?? "");
  return done.data;
};

export const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw broken("it is no JSON");
  }
};

export const broken = (why: string): AgentUnreachable =>
  new AgentUnreachable(`what the tool that walks trees said does not fit: ${why}`, true);

const refusalOf = ({ code, message, entry }: z.output<typeof refused>): HoldfastError => {
  const about = entry === null ? "" : `${clean(entry)}: `;
  const details = { ...(entry !== null && { entry: clean(entry) }), reason: clean(message) };
  return code === "damaged"
    ? new HoldfastError("computer_failed", `the packed computer is damaged: ${clean(message)}`, {
        reason: "archive_damaged",
      })
    : new HoldfastError(code, `${about}${clean(message)}`, details);
};

/** Names from a cell, in a sentence of ours. */
const clean = (text: string): string => text.replaceAll(/[^\P{C}]/gu, " ").slice(0, 500);

/**
 * A manifest that fits what was asked for: each path at or below one of those, in a directory that came before it, once. Throws
 * `cell_unreachable` for any other.
 */
export const manifestOf = (
  entries: z.output<typeof manifestAnswer>["entries"],
  paths: readonly string[],
): Manifest => {
  const kinds = new Map<string, ManifestEntry["kind"]>();
  let bytes = 0;
  for (const entry of entries) {
    const { path, kind } = entry;
    const isPlain = path
      .split("/")
      .every((part, at) => (at === 0 ? part === "" : !["", ".", ".."].includes(part)));
    const parent = path.slice(0, path.lastIndexOf("/"));
    if (!isPlain || kinds.has(path)) throw broken("a path that is not plain");
    if (!paths.includes(path) && kinds.get(parent) !== "directory")
      throw broken("a path that was not asked for");
    if ((kind === "file") !== (entry.digest !== null) || (kind === "link") !== (entry.target !== null))
      throw broken("an entry that is not whole");
    if (kind !== "file" && entry.bytes !== 0) throw broken("content where there is none");
    kinds.set(path, kind);
    bytes += entry.bytes;
  }
  if (bytes > limits.offerBytes) throw broken("more bytes than were allowed");
  if (paths.some((path) => !kinds.has(path))) throw broken("a path that was asked for is missing");
  return { entries, bytes, digest: digestOf(entries) };
};

export const digestOf = (entries: readonly ManifestEntry[]): string => {
  const hash = createHash("sha256");
  for (const { path, kind, mode, bytes, digest: content, target } of entries)
    hash.update(`${JSON.stringify([path, kind, mode, bytes, content, target])}\n`);
  return hash.digest("hex");
};
