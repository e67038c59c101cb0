import { z } from "zod";
import { idPattern, idSchema } from "../ids.ts";
import { computerSizeNames, limits } from "../limits.ts";
import {
  computerRef,
  environmentSchema,
  nameSchema,
  nextCursor,
  page,
  pathSchema,
  timestamp,
} from "./common.ts";
import { computerView, lifetime } from "./computers.ts";
import { consequences, operation } from "./define.ts";

/** Names are unique among the snapshots of a computer. */
export const snapshotRef = z
  .string()
  .max(64)
  .refine(
    (text) => idPattern("snapshot").test(text) || nameSchema.safeParse(text).success,
    "a snapshot's id (snp_…) or name",
  )
  .describe("The snapshot: its id (snp_…) or its name");
/** As `page`, where the position is a path. */
export const pathPage = {
  limit: z.coerce.number().int().min(1).max(limits.differencePage).default(limits.differencePage),
  cursor: z
    .string()
    .max(2 * limits.pathBytes)
    .optional()
    .describe(page.cursor.description ?? ""),
};
const snapshotId = idSchema("snapshot").describe("The snapshot's id (snp_…)");

export const snapshotView = z.looseObject({
  id: idSchema("snapshot"),
  computer: z.string(),
  name: z.string(),
  note: z.string(),
  kind: z
    .enum(["manual", "hourly", "daily", "weekly", "before_restore"])
    .describe("Automatic ones are taken away again by the computer's retention"),
  services: z.number().describe("How many services, projects and schedules are written down with it"),
  projects: z.number(),
  schedules: z.number(),
  taken_by: z.string(),
  taken_at: timestamp,
  sync_ms: z.number().describe("How long writing out what was under way took"),
});

const one = { computer: computerRef, snapshot: snapshotRef };
const route = "/v1/computers/{computer}/snapshots" as const;
export const makes = ["not_found", "wrong_state", "host_full", "computer_failed"] as const;
export const once = ["operation_running", "idempotency_mismatch"] as const;

export const snapshotCreate = operation({
  name: "snapshot.create",
  title: "Take a snapshot",
  summary: "Freeze the disk of a computer at this moment",
  description:
    "Keeps the whole disk as it is now, with what services, projects, schedules and environment are at this moment. It takes no room until the computer changes, and nothing on the computer is stopped. Restore it (`snapshot_restore`), or make another computer from it (`computer_fork`).",
  input: z.object({
    computer: computerRef,
    name: nameSchema.optional().describe("Unique among its snapshots. Default: made from the time"),
    note: z.string().max(limits.descriptionLength).default(""),
  }),
  output: snapshotView,
  route: { method: "POST", path: route },
  errors: [...makes, "name_taken", "ceiling_reached", ...once],
  consequence: "prepare",
  idempotent: true,
  cost: "storage",
  command: { noun: "snapshots", verb: "create", arguments: ["computer"] },
});

export const snapshotList = operation({
  name: "snapshot.list",
  title: "List snapshots",
  summary: "List the snapshots of a computer",
  description: "Lists the snapshots of a computer, newest first.",
  input: z.object({ computer: computerRef, ...page }),
  output: z.looseObject({ snapshots: z.array(snapshotView), next_cursor: nextCursor }),
  route: { method: "GET", path: route },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "snapshots", verb: "list", arguments: ["computer"] },
});

export const snapshotGet = operation({
  name: "snapshot.get",
  title: "Look at a snapshot",
  summary: "Show one snapshot",
  description: "Answers one snapshot and what was written down with it.",
  input: z.object(one),
  output: z.looseObject({
    ...snapshotView.shape,
    definitions: z.looseObject({}).describe("Services, projects, schedules and environment at that moment"),
  }),
  route: { method: "GET", path: `${route}/{snapshot}` },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "snapshots", verb: "show", arguments: ["computer", "snapshot"] },
});

export const snapshotDelete = operation({
  name: "snapshot.delete",
  title: "Delete a snapshot",
  summary: "Delete a snapshot for good",
  description: "Deletes the snapshot. Computers made from it stay.",
  input: z.object(one),
  output: snapshotView,
  route: { method: "DELETE", path: `${route}/{snapshot}` },
  errors: ["not_found", "wrong_state"],
  consequence: "modify",
  destructive: true,
  repeatable: true,
  command: { noun: "snapshots", verb: "delete", arguments: ["computer", "snapshot"] },
});

export const snapshotRestore = operation({
  name: "snapshot.restore",
  title: "Restore a snapshot",
  summary: "Put a computer back to a snapshot",
  description:
    "Stops the computer, keeps what it is now as another snapshot (named in the reply), puts the snapshot's files in place and brings the computer back to the state it was in. `files` leaves services, projects and schedules as they are now; `files_and_definitions` puts those of the snapshot back too. Addresses and who may visit them never change by it.",
  input: z.object({
    ...one,
    what: z.enum(["files", "files_and_definitions"]).default("files"),
    wait_ms: z.number().int().min(0).max(limits.waitMs).default(30_000).describe("How long to wait for it"),
  }),
  output: z.looseObject({
    computer: computerView,
    before: z.string().describe("The snapshot of what was replaced"),
  }),
  route: { method: "POST", path: `${route}/{snapshot}/restore` },
  errors: [...makes, "ceiling_reached", ...once],
  consequence: "modify",
  destructive: true,
  idempotent: true,
  command: { noun: "snapshots", verb: "restore", arguments: ["computer", "snapshot"] },
});

export const differenceView = z.looseObject({
  path: z.string(),
  change: z.enum(["added", "changed", "removed"]),
  kind: z.string().describe("What it is (after): file, directory, link or other"),
  size_before: z.number().nullable(),
  size_after: z.number().nullable(),
});

export const snapshotDiff = operation({
  name: "snapshot.diff",
  title: "Compare snapshots",
  summary: "Show what was added, changed and removed between two snapshots",
  description:
    "Compares the whole disks of two snapshots of a computer, or of a snapshot with what is now. It is done in a throwaway cell that only reads.",
  input: z.object({
    ...one,
    to: snapshotRef.optional().describe("The later one. Default: what is now"),
    path: pathSchema.optional().describe("Only what is below this"),
    ...pathPage,
  }),
  output: z.looseObject({
    differences: z.array(differenceView),
    added: z.number(),
    changed: z.number(),
    removed: z.number(),
    truncated: z.boolean().describe("There are more than are counted"),
    next_cursor: nextCursor,
  }),
  route: { method: "GET", path: `${route}/{snapshot}/diff` },
  errors: [...makes, "limit_reached"],
  consequence: "observe",
  command: { noun: "snapshots", verb: "diff", arguments: ["computer", "snapshot"] },
});

export const snapshotExport = operation({
  name: "snapshot.export",
  title: "Export a snapshot",
  summary: "Download a snapshot as one file",
  description:
    "Streams one file with everything of the snapshot: a manifest with checksums, the definitions, and the files. `snapshot_import` makes a computer of it, here or on another host. Credentials and keys of Holdfast are not in it.",
  input: z.object(one),
  output: z.looseObject({}),
  route: { method: "GET", path: `${route}/{snapshot}/export` },
  reply: "bytes",
  errors: [...makes, "limit_reached"],
  consequence: "observe",
  command: { noun: "snapshots", verb: "export", arguments: ["computer", "snapshot"] },
});

export const snapshotImport = operation({
  name: "snapshot.import",
  title: "Import a snapshot",
  summary: "Make a computer from an exported file",
  description:
    "Makes a new computer from the file: its files, services and projects (with addresses of their own, private) and its schedules (paused). The file is read inside the new computer alone, and refused whole when its checksum does not fit.",
  input: z.object({
    name: nameSchema.describe("Of the new computer"),
    size: z.enum(computerSizeNames).default("small").describe("Of the new computer: the files must fit"),
  }),
  output: computerView,
  route: { method: "POST", path: "/v1/computers/import" },
  body: "bytes",
  errors: ["name_taken", "ceiling_reached", "archive_refused", "disk_full", "too_large", ...makes, ...once],
  consequence: "prepare",
  idempotent: true,
  cost: "computer_time",
  command: { noun: "snapshots", verb: "import", arguments: ["name"] },
});

export const computerFork = operation({
  name: "computer.fork",
  title: "Fork a computer",
  summary: "Make another computer from a snapshot or from how it is now",
  description:
    "Makes a new computer with a copy of the disk, in a moment and at no cost until either changes. It has its own identity (machine id, host keys, tokens), its projects get addresses of their own, private, and its schedules are paused. With `lifetime_ms` it ends by itself unless it is promoted (`computer_promote`).",
  input: z.object({
    computer: computerRef,
    name: nameSchema.describe("Of the new computer"),
    snapshot: snapshotRef.optional().describe("Default: how it is now"),
    size: z.enum(computerSizeNames).optional().describe("Default: the same"),
    description: z.string().max(limits.descriptionLength).default(""),
    environment: environmentSchema.optional().describe("Default: the same"),
    lifetime_ms: lifetime,
    wait_ms: z.number().int().min(0).max(limits.waitMs).default(20_000).describe("How long to wait for it"),
  }),
  output: computerView,
  route: { method: "POST", path: "/v1/computers/{computer}/fork" },
  errors: [...makes, "name_taken", "ceiling_reached", ...once],
  consequence: "prepare",
  idempotent: true,
  cost: "computer_time",
  command: { noun: "computers", verb: "fork", arguments: ["computer", "name"] },
});

export const childCreate = operation({
  name: "child.create",
  title: "Create a child",
  summary: "Fork a computer for a helper with fewer rights, bound to its parent",
  description:
    "Makes a fork that is bound to this computer and destroyed with it, and a key for a helper that can use nothing but the child, at most as much as you may yourself. What the helper wants back on the parent it offers (`offer_create`); you look at the offer (`offer_diff`) and accept or reject it. The key's secret is in this reply and nowhere else.",
  input: z.object({
    computer: computerRef.describe("The parent: its id or its name"),
    name: nameSchema.describe("Of the child"),
    snapshot: snapshotRef.optional().describe("Default: how the parent is now"),
    size: z.enum(computerSizeNames).optional().describe("At most the parent's"),
    consequence: z.enum(consequences).optional().describe("Highest class of operation; at most your own"),
    lifetime_ms: lifetime,
    wait_ms: z.number().int().min(0).max(limits.waitMs).default(20_000).describe("How long to wait for it"),
  }),
  output: z.looseObject({
    computer: computerView,
    assistant: z.string().describe("The helper's id"),
    secret: z.string().describe("The helper's key, shown once"),
  }),
  route: { method: "POST", path: "/v1/computers/{computer}/children" },
  errors: [...makes, "name_taken", "ceiling_reached", "limit_reached", ...once],
  consequence: "prepare",
  idempotent: true,
  cost: "computer_time",
  command: { noun: "children", verb: "create", arguments: ["computer", "name"] },
});

export { snapshotId };
