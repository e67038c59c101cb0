import { z } from "zod";
import { idSchema } from "../ids.ts";
import { limits } from "../limits.ts";
import { publicRule, wholeProject } from "../programs/gateway.ts";
import { nextCursor, page, timestamp } from "./common.ts";
import { operation } from "./define.ts";
import { projectRef, projectView } from "./projects.ts";

const one = { project: projectRef };

export const projectPublish = operation({
  name: "project.publish",
  title: "Publish a project",
  summary: "Open a project's address to everyone",
  description:
    "From now on everyone who knows the address reaches it: all of it, or what `rules` name. Only an owner may.",
  input: z.object({
    ...one,
    rules: z
      .array(publicRule)
      .min(1)
      .max(limits.publicRulesPerProject)
      .default([wholeProject])
      .describe("What is open: methods (null: all) and a path, exact or ending in `*`. Default: everything"),
  }),
  output: projectView,
  route: { method: "POST", path: "/v1/projects/{project}/publish" },
  errors: ["not_found"],
  consequence: "modify",
  scope: "owner",
  repeatable: true,
  command: { noun: "projects", verb: "publish", arguments: ["project"] },
});

export const projectUnpublish = operation({
  name: "project.unpublish",
  title: "Unpublish a project",
  summary: "Close a project's address to everyone without a right",
  description:
    "Makes the address private again. Connections of visitors without a right are closed within a second.",
  input: z.object(one),
  output: projectView,
  route: { method: "POST", path: "/v1/projects/{project}/unpublish" },
  errors: ["not_found"],
  consequence: "prepare",
  repeatable: true,
  command: { noun: "projects", verb: "unpublish", arguments: ["project"] },
});

export const projectOpen = operation({
  name: "project.open",
  title: "Open a project",
  summary: "Make a one-time link that opens a project signed in",
  description:
    "A link that works once, within a minute, and signs this browser in to the project's address for at most 12 hours. Signing out of this session ends that, too.",
  input: z.object({
    ...one,
    port: z.coerce
      .number()
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe("Another port than the web service's"),
  }),
  output: z.looseObject({ url: z.string(), expires_at: timestamp }),
  route: { method: "POST", path: "/v1/projects/{project}/open" },
  errors: ["not_found"],
  consequence: "prepare",
  scope: "owner",
  command: { noun: "projects", verb: "open", arguments: ["project"] },
});

export const projectAccess = operation({
  name: "project.access",
  title: "Read who visited a project",
  summary: "List requests to a project's address, newest first",
  description:
    "Lists the requests that reached the project's address: when, what, how it was answered, and by whose right.",
  input: z.object({ ...one, ...page }),
  output: z.looseObject({
    requests: z.array(
      z.looseObject({
        at: timestamp,
        port: z.number().nullable().describe("Null: the web service"),
        method: z.string(),
        path: z.string().describe("Without the query"),
        status: z.number(),
        received_bytes: z.number(),
        sent_bytes: z.number(),
        duration_ms: z.number(),
        subject: z.string().nullable().describe("The principal or share; null: a visitor"),
      }),
    ),
    next_cursor: nextCursor,
  }),
  route: { method: "GET", path: "/v1/projects/{project}/access" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "projects", verb: "access", arguments: ["project"] },
});

export const shareView = z.looseObject({
  id: idSchema("share"),
  project: z.string(),
  label: z.string(),
  created_by: z.string(),
  created_at: timestamp,
  expires_at: timestamp,
  revoked_at: timestamp.nullable(),
});

export const shareCreate = operation({
  name: "share.create",
  title: "Share a project",
  summary: "Make a link to a private project; shown once",
  description:
    "Makes a link that opens the private project for whoever has it, until it expires or is revoked. The link is in this reply and nowhere else.",
  input: z.object({
    ...one,
    label: z.string().max(100).default("").describe("For whom it is"),
    expires_in_ms: z
      .number()
      .int()
      .min(60_000)
      .max(limits.shareMaxMs)
      .default(limits.shareMs)
      .describe("How long the link works; default: 30 days"),
  }),
  output: z.looseObject({ share: shareView, url: z.string() }),
  route: { method: "POST", path: "/v1/projects/{project}/shares" },
  errors: ["not_found", "operation_running", "idempotency_mismatch"],
  consequence: "modify",
  idempotent: true,
  scope: "owner",
  command: { noun: "shares", verb: "create", arguments: ["project"] },
});

export const shareList = operation({
  name: "share.list",
  title: "List shares",
  summary: "List the links made for a project",
  description: "Lists the share links of a project, without their secrets.",
  input: z.object({ ...one, ...page }),
  output: z.looseObject({ shares: z.array(shareView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/projects/{project}/shares" },
  errors: ["not_found"],
  consequence: "observe",
  scope: "owner",
  command: { noun: "shares", verb: "list", arguments: ["project"] },
});

export const shareRevoke = operation({
  name: "share.revoke",
  title: "Revoke a share",
  summary: "Close a share link and every session it opened",
  description: "The link and every session it opened end within a second.",
  input: z.object({ ...one, share: idSchema("share").describe("The share: its id (shr_…)") }),
  output: shareView,
  route: { method: "DELETE", path: "/v1/projects/{project}/shares/{share}" },
  errors: ["not_found"],
  consequence: "modify",
  scope: "owner",
  destructive: true,
  repeatable: true,
  command: { noun: "shares", verb: "revoke", arguments: ["project", "share"] },
});
