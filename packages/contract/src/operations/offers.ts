import { z } from "zod";
import { idSchema } from "../ids.ts";
import { limits } from "../limits.ts";
import { computerRef, nextCursor, page, pathSchema, reachErrors, timestamp } from "./common.ts";
import { operation } from "./define.ts";
import { deploymentView, projectRef } from "./projects.ts";
import { differenceView, makes, once, pathPage } from "./snapshots.ts";

const offerId = idSchema("offer").describe("The offer's id (off_…)");

export const offerView = z.looseObject({
  id: idSchema("offer"),
  child: z.string(),
  parent: z.string(),
  note: z.string(),
  paths: z.array(z.string()),
  state: z.enum(["open", "accepted", "rejected", "withdrawn"]),
  entries: z.number().describe("Files, links and directories it comes to"),
  bytes: z.number(),
  digest: z.string().describe("Of all of it: accept with this"),
  made_by: z.string(),
  made_at: timestamp,
  decided_by: z.string().nullable(),
  decided_at: timestamp.nullable(),
});

export const offerCreate = operation({
  name: "offer.create",
  title: "Offer work to the parent",
  summary: "Hand chosen paths of a child to its parent for review",
  description:
    "Freezes the chosen paths of a child as they are now and offers them to its parent. What is changed on the child afterwards changes nothing about the offer. Links stay links; devices, sockets and setuid files are refused.",
  input: z.object({
    computer: computerRef.describe("The child: its id or its name"),
    paths: z.array(pathSchema).min(1).max(limits.offerPaths).describe("Files or directories below /work"),
    note: z.string().max(limits.offerNoteLength).default("").describe("What was done and why"),
  }),
  output: offerView,
  route: { method: "POST", path: "/v1/computers/{computer}/offers" },
  errors: [...makes, "file_not_found", "archive_refused", "too_large", "limit_reached", ...once],
  consequence: "prepare",
  idempotent: true,
  command: { noun: "offers", verb: "create", arguments: ["computer"] },
});

export const offerList = operation({
  name: "offer.list",
  title: "List offers",
  summary: "List what children offer, or have offered",
  description: "Lists the offers to a computer from its children, and those it made itself, newest first.",
  input: z.object({ computer: computerRef, ...page }),
  output: z.looseObject({ offers: z.array(offerView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/computers/{computer}/offers" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "offers", verb: "list", arguments: ["computer"] },
});

export const offerDiff = operation({
  name: "offer.diff",
  title: "Review an offer",
  summary: "Show what accepting an offer would change",
  description:
    "Compares the offer with the parent's files as they are now: each path with its change, digest, permissions and, of a link, where it leads, and a unified diff of text files.",
  input: z.object({
    offer: offerId,
    ...pathPage,
  }),
  output: z.looseObject({
    offer: offerView,
    differences: z.array(
      z.looseObject({
        ...differenceView.shape,
        digest: z.string().nullable(),
        mode: z.string().nullable().describe("What a file or new directory gets; octal, for example 0644"),
        target: z.string().nullable().describe("Where a link leads, as it stands in it"),
      }),
    ),
    text: z.string().describe("Unified diff of the text files of this page, cut where it is long"),
    truncated: z.boolean(),
    next_cursor: nextCursor,
  }),
  route: { method: "GET", path: "/v1/offers/{offer}/diff" },
  errors: [...reachErrors, "limit_reached"],
  consequence: "observe",
  command: { noun: "offers", verb: "diff", arguments: ["offer"] },
});

export const offerAccept = operation({
  name: "offer.accept",
  title: "Accept an offer",
  summary: "Copy exactly what was offered into the parent",
  description:
    "Copies the offered paths from the frozen copy to the same places on the parent, whole or not at all. `digest` says which content you looked at. Where the paths are in a project's folder the change is a commit of that project; deploy to run it.",
  input: z.object({
    offer: offerId,
    digest: z.string().max(100).describe("The digest of the offer, as you reviewed it"),
    project: projectRef
      .optional()
      .describe("Commit to this project. Default: the one whose folder holds all paths"),
  }),
  output: z.looseObject({ offer: offerView, commit: deploymentView.shape.commit.nullable() }),
  route: { method: "POST", path: "/v1/offers/{offer}/accept" },
  errors: [...reachErrors, "version_mismatch", "git_failed", "disk_full", "archive_refused", ...once],
  consequence: "prepare",
  idempotent: true,
  command: { noun: "offers", verb: "accept", arguments: ["offer"] },
});

export const offerReject = operation({
  name: "offer.reject",
  title: "Reject an offer",
  summary: "Turn an offer down, or withdraw it",
  description: "Ends the offer; nothing is copied. By the child's side it is withdrawn.",
  input: z.object({ offer: offerId, note: z.string().max(limits.offerNoteLength).default("") }),
  output: offerView,
  route: { method: "POST", path: "/v1/offers/{offer}/reject" },
  errors: ["not_found", "wrong_state"],
  consequence: "prepare",
  repeatable: true,
  command: { noun: "offers", verb: "reject", arguments: ["offer"] },
});
