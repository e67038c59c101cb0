import { z } from "zod";
import { limits } from "../limits.ts";
import {
  computerRef,
  flag,
  ifMatch,
  pathSchema,
  reachErrors,
  timestamp,
  userSchema,
  version,
} from "./common.ts";
import { operation } from "./define.ts";

export const fileView = z.looseObject({
  path: z.string(),
  kind: z.enum(["file", "directory", "link", "fifo", "socket", "device", "other"]),
  size_bytes: z.number(),
  mode: z.string().describe("Octal, for example 0644"),
  uid: z.number(),
  gid: z.number(),
  modified_at: timestamp,
  target: z.string().nullable().describe("Where a link points"),
  version,
});

const one = { computer: computerRef, path: pathSchema };
const look = [...reachErrors, "file_not_found", "file_kind", "file_permission"] as const;
const change = [...look, "disk_full", "too_large"] as const;
const mode = z
  .string()
  .regex(/^0?[0-7]{3}$/, "an octal mode such as 0644")
  .optional();
const owned = {
  mode,
  user: userSchema.optional(),
  make_parents: z.boolean().default(true).describe("Make missing directories"),
};

export const fileRead = operation({
  name: "file.read",
  title: "Read a file",
  summary: "Read a file, whole or in part",
  description:
    "Answers the content of a file from `offset`. Long files come in parts: read on at `next_offset` until it is null. Bytes that are not UTF-8: use `encoding` base64.",
  input: z.object({
    ...one,
    offset: z.coerce.number().int().min(0).default(0).describe("First byte"),
    max_bytes: z.coerce.number().int().min(1).max(limits.fileReadJsonBytes).default(limits.replyTextBytes),
    encoding: z.enum(["text", "base64"]).default("text"),
  }),
  output: z.looseObject({
    file: fileView,
    content: z.string(),
    offset: z.number(),
    next_offset: z.number().nullable(),
  }),
  route: { method: "GET", path: "/v1/computers/{computer}/files/content" },
  errors: look,
  consequence: "observe",
  command: { noun: "files", verb: "read", arguments: ["computer", "path"] },
});

export const fileDownload = operation({
  name: "file.download",
  title: "Download a file",
  summary: "Stream a file's bytes",
  description:
    "The bytes of a regular file, at most 10 GiB at once; `offset` and `length` (or one Range header) select a part.",
  input: z.object({
    ...one,
    offset: z.coerce.number().int().min(0).default(0),
    length: z.coerce.number().int().min(1).optional(),
  }),
  output: z.looseObject({}),
  route: { method: "GET", path: "/v1/computers/{computer}/files/bytes" },
  reply: "bytes",
  errors: look,
  consequence: "observe",
  command: { noun: "files", verb: "download", arguments: ["computer", "path"] },
});

export const fileWrite = operation({
  name: "file.write",
  title: "Write a file",
  summary: "Create or replace a file",
  description:
    "Writes a whole file at once: readers see the old or the new content, never half. Use `file_edit` for small changes.",
  input: z.object({
    ...one,
    content: z.string().max(limits.fileWriteJsonBytes).describe("The content"),
    encoding: z.enum(["text", "base64"]).default("text"),
    ...owned,
    must_not_exist: z.boolean().default(false),
    if_match: ifMatch,
  }),
  output: fileView,
  route: { method: "PUT", path: "/v1/computers/{computer}/files/content" },
  errors: [...change, "file_exists", "version_mismatch"],
  consequence: "prepare",
  repeatable: true,
  destructive: true,
  command: { noun: "files", verb: "write", arguments: ["computer", "path"] },
});

export const fileUpload = operation({
  name: "file.upload",
  title: "Upload a file",
  summary: "Stream bytes into a file",
  description: "Writes the request body to a file, whole or not at all.",
  input: z.object({
    ...one,
    mode,
    uid: z.coerce.number().int().min(0).max(65_534).optional(),
    gid: z.coerce.number().int().min(0).max(65_534).optional(),
    make_parents: flag.default(true),
    must_not_exist: flag.default(false),
  }),
  output: fileView,
  route: { method: "PUT", path: "/v1/computers/{computer}/files/bytes" },
  body: "bytes",
  errors: [...change, "file_exists"],
  consequence: "prepare",
  repeatable: true,
  destructive: true,
  command: { noun: "files", verb: "upload", arguments: ["computer", "path"] },
});

export const fileEdit = operation({
  name: "file.edit",
  title: "Edit a file",
  summary: "Replace exact pieces of text",
  description:
    "Replaces `old` by `new` for each edit, all or nothing. Each `old` must stand in the file exactly once (give surrounding lines to make it unique) unless `all` is true.",
  input: z.object({
    ...one,
    edits: z
      .array(z.object({ old: z.string().min(1), new: z.string(), all: z.boolean().default(false) }))
      .min(1)
      .max(limits.editsPerCall),
    if_match: ifMatch,
  }),
  output: z.looseObject({ file: fileView, replaced: z.number() }),
  route: { method: "POST", path: "/v1/computers/{computer}/files/edit" },
  errors: [...change, "match_failed", "version_mismatch"],
  consequence: "prepare",
  destructive: true,
  command: { noun: "files", verb: "edit", arguments: ["computer", "path"] },
});

export const fileList = operation({
  name: "file.list",
  title: "List a directory",
  summary: "List a directory",
  description: "Lists a directory by name, in pages.",
  input: z.object({
    ...one,
    limit: z.coerce.number().int().min(1).max(limits.directoryPageMax).default(limits.directoryPage),
    cursor: z.string().max(limits.pathBytes).optional(),
  }),
  output: z.looseObject({ entries: z.array(fileView), next_cursor: z.string().nullable() }),
  route: { method: "GET", path: "/v1/computers/{computer}/files" },
  errors: look,
  consequence: "observe",
  command: { noun: "files", verb: "list", arguments: ["computer", "path"] },
});

export const fileStat = operation({
  name: "file.stat",
  title: "Look at a file",
  summary: "Show kind, size, mode and time of a path",
  description: "Answers what is at a path, without following a last link unless `follow` is set.",
  input: z.object({ ...one, follow: flag.default(false) }),
  output: fileView,
  route: { method: "GET", path: "/v1/computers/{computer}/files/stat" },
  errors: look,
  consequence: "observe",
  command: { noun: "files", verb: "stat", arguments: ["computer", "path"] },
});

export const fileMove = operation({
  name: "file.move",
  title: "Move a file",
  summary: "Move or rename a file or directory",
  description: "Moves what is at `path` to `to`.",
  input: z.object({ ...one, to: pathSchema, overwrite: z.boolean().default(false) }),
  output: fileView,
  route: { method: "POST", path: "/v1/computers/{computer}/files/move" },
  errors: [...change, "file_exists"],
  consequence: "prepare",
  destructive: true,
  command: { noun: "files", verb: "move", arguments: ["computer", "path", "to"] },
});

export const fileDelete = operation({
  name: "file.delete",
  title: "Delete a file",
  summary: "Delete a file or directory",
  description:
    "Deletes a file, a link (not what it points to) or, with `recursive`, a directory and all in it.",
  input: z.object({ ...one, recursive: flag.default(false) }),
  output: z.looseObject({ deleted: z.number().describe("Entries deleted") }),
  route: { method: "DELETE", path: "/v1/computers/{computer}/files" },
  errors: [...look, "directory_not_empty"],
  consequence: "prepare",
  destructive: true,
  command: { noun: "files", verb: "delete", arguments: ["computer", "path"] },
});

export const fileMkdir = operation({
  name: "file.mkdir",
  title: "Make a directory",
  summary: "Make a directory",
  description:
    "Makes a directory, with its parents unless told otherwise. One that is there already is fine.",
  input: z.object({ ...one, mode, user: userSchema.optional(), parents: z.boolean().default(true) }),
  output: fileView,
  route: { method: "POST", path: "/v1/computers/{computer}/files/mkdir" },
  errors: [...change, "file_exists"],
  consequence: "prepare",
  repeatable: true,
  command: { noun: "files", verb: "mkdir", arguments: ["computer", "path"] },
});

export const fileWatch = operation({
  name: "file.watch",
  title: "Watch a directory",
  summary: "Stream changes of files",
  description: "Server-sent events: `change` {type, path}. `overflow` means some were missed: list again.",
  input: z.object({ ...one, recursive: flag.default(false) }),
  output: z.looseObject({}),
  route: { method: "GET", path: "/v1/computers/{computer}/files/watch" },
  reply: "events",
  errors: look,
  consequence: "observe",
  command: { noun: "files", verb: "watch", arguments: ["computer", "path"] },
});

export const archiveExport = operation({
  name: "archive.export",
  title: "Export a directory",
  summary: "Stream a directory as a tar archive",
  description: "The content of a directory as an uncompressed tar stream.",
  input: z.object(one),
  output: z.looseObject({}),
  route: { method: "GET", path: "/v1/computers/{computer}/archive" },
  reply: "bytes",
  errors: look,
  consequence: "observe",
  command: { noun: "files", verb: "export", arguments: ["computer", "path"] },
});

export const archiveImport = operation({
  name: "archive.import",
  title: "Import an archive",
  summary: "Unpack a tar archive into a directory",
  description:
    "Unpacks the request body (tar, or tar with gzip) into a directory: whole or not at all. Refused are absolute paths, `..`, whatever would be unpacked through a link, hard links to what the archive has not brought, devices, FIFOs and setuid files. Symbolic links stay as they are, wherever they point, and are not followed while unpacking.",
  input: z.object(one),
  output: z.looseObject({ entries: z.number(), bytes: z.number() }),
  route: { method: "PUT", path: "/v1/computers/{computer}/archive" },
  body: "bytes",
  errors: [...change, "archive_refused", "file_exists"],
  consequence: "prepare",
  destructive: true,
  command: { noun: "files", verb: "import", arguments: ["computer", "path"] },
});
