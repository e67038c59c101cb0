import { z } from "zod";
import { idSchema } from "../ids.ts";
import { computerSizeNames, limits } from "../limits.ts";
import { nextCursor, page, timestamp } from "./common.ts";
import { consequences, operation } from "./define.ts";

/** What an assistant's key may do at most. An absent ceiling takes its default; nothing means unlimited. */
export const ceilings = z.object({
  computers: z
    .number()
    .int()
    .min(0)
    .max(limits.computersPerAccount)
    .default(5)
    .describe("Most computers at once"),
  name_prefix: z
    .string()
    .max(20)
    .regex(/^([a-z][a-z0-9-]*)?$/)
    .default("")
    .describe("Names of its computers begin with this"),
  disk_bytes: z
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(100 * 1024 ** 3)
    .describe("Disk that all its computers may have together, by their sizes"),
  snapshots: z
    .number()
    .int()
    .min(0)
    .max(limits.snapshotsPerAccount)
    .default(100)
    .describe("Most snapshots of all its computers"),
  largest_size: z.enum(computerSizeNames).default("medium"),
  consequence: z.enum(consequences).default("modify").describe("Highest class of operation"),
});

export const principalView = z.looseObject({
  kind: z.enum(["owner", "assistant"]),
  id: z.string(),
  name: z.string(),
  account: z.string(),
  ceilings: ceilings.nullable().describe("Null for an owner"),
  computers: z.number().describe("Computers it has now"),
  expires_at: timestamp.nullable(),
});

export const principalGet = operation({
  name: "principal.get",
  title: "Who am I",
  summary: "Show who you are and what you may do",
  description: "Answers who this key or session is, its ceilings, and how many computers it has.",
  input: z.object({}),
  output: principalView,
  route: { method: "GET", path: "/v1/principal" },
  consequence: "observe",
  tool: "whoami",
  command: { noun: "principal", verb: "show", arguments: [] },
});

export const keyView = z.looseObject({
  id: idSchema("key"),
  name: z.string(),
  assistant: idSchema("assistant"),
  ceilings,
  state: z.enum(["active", "revoked", "expired"]),
  created_by: z.string(),
  created_at: timestamp,
  expires_at: timestamp.nullable(),
  revoked_at: timestamp.nullable(),
  last_used_at: timestamp.nullable(),
});

const assistantName = z
  .string()
  .min(1)
  .max(limits.nameLength)
  .regex(/^[a-z][a-z0-9-]*$/, "lower-case letters, digits and hyphens");

export const keyCreate = operation({
  name: "key.create",
  title: "Create a key",
  summary: "Create an assistant's key; shown once",
  description:
    "Makes a key for an assistant (a new one, or one that exists by name). The secret is in this reply and nowhere else.",
  input: z.object({
    name: assistantName.describe("The assistant's name"),
    ceilings: ceilings.prefault({}),
    expires_in_ms: z
      .number()
      .int()
      .min(60_000)
      .max(10 * 365 * 24 * 3600 * 1000)
      .optional()
      .describe("Default: does not expire"),
  }),
  output: z.looseObject({ key: keyView, secret: z.string().describe("hf_…, shown once") }),
  route: { method: "POST", path: "/v1/keys" },
  errors: ["operation_running", "idempotency_mismatch"],
  consequence: "administer",
  idempotent: true,
  scope: "owner",
  confirm: true,
  command: { noun: "keys", verb: "create", arguments: ["name"] },
});

export const keyList = operation({
  name: "key.list",
  title: "List keys",
  summary: "List assistants' keys",
  description: "Lists keys with their ceilings and last use; never their secrets.",
  input: z.object(page),
  output: z.looseObject({ keys: z.array(keyView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/keys" },
  consequence: "observe",
  scope: "owner",
  command: { noun: "keys", verb: "list", arguments: [] },
});

export const keyRevoke = operation({
  name: "key.revoke",
  title: "Revoke a key",
  summary: "End a key at once",
  description: "Refuses the key from now on. Its assistant's computers stay.",
  input: z.object({ key: idSchema("key") }),
  output: keyView,
  route: { method: "DELETE", path: "/v1/keys/{key}" },
  errors: ["not_found"],
  consequence: "administer",
  scope: "owner",
  repeatable: true,
  destructive: true,
  command: { noun: "keys", verb: "revoke", arguments: ["key"] },
});

export const ownerView = z.looseObject({
  id: idSchema("owner"),
  name: z.string(),
  state: z.enum(["invited", "active", "removed"]),
  key_fingerprint: z.string().nullable().describe("SHA-256 of the owner key, base64url"),
  created_at: timestamp,
  last_seen_at: timestamp.nullable(),
});

const passphrase = z.string().min(12, "at least 12 characters").max(1000);
const ownerName = z.string().min(1).max(limits.nameLength);

export const ownerList = operation({
  name: "owner.list",
  title: "List owners",
  summary: "List the owners of this account",
  description: "Lists owners with the fingerprints of their keys.",
  input: z.object(page),
  output: z.looseObject({ owners: z.array(ownerView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/owners" },
  consequence: "observe",
  scope: "owner",
  command: { noun: "owners", verb: "list", arguments: [] },
});

export const ownerInvite = operation({
  name: "owner.invite",
  title: "Invite an owner",
  summary: "Make a one-time code for another owner",
  description:
    "Makes a code that lets one more person sign in as an owner. It works once, for fifteen minutes.",
  input: z.object({ name: ownerName }),
  output: z.looseObject({ owner: ownerView, code: z.string(), expires_at: timestamp }),
  route: { method: "POST", path: "/v1/owners" },
  errors: ["limit_reached", "name_taken"],
  consequence: "administer",
  scope: "owner",
  confirm: true,
  command: { noun: "owners", verb: "invite", arguments: ["name"] },
});

export const ownerRemove = operation({
  name: "owner.remove",
  title: "Remove an owner",
  summary: "End an owner's access at once",
  description: "Ends the owner's sessions and refuses the owner's key. The last owner cannot be removed.",
  input: z.object({ owner: idSchema("owner") }),
  output: ownerView,
  route: { method: "DELETE", path: "/v1/owners/{owner}" },
  errors: ["not_found", "wrong_state"],
  consequence: "administer",
  scope: "owner",
  confirm: true,
  repeatable: true,
  destructive: true,
  command: { noun: "owners", verb: "remove", arguments: ["owner"] },
});

const sessionView = z.looseObject({
  id: idSchema("session"),
  owner: ownerView,
  expires_at: timestamp,
  confirmed_until: timestamp.nullable(),
});

export const sessionEnrol = operation({
  name: "session.enrol",
  title: "Enrol as an owner",
  summary: "Redeem a one-time code and set a passphrase",
  description:
    "Redeems a one-time code, sets the passphrase and enrols the owner key. The key is made by the client and sent sealed under the passphrase: the server never sees it open.",
  input: z.object({
    code: z.string().max(100),
    passphrase: passphrase.describe(
      "What signing in will send, taken as it is. Holdfast's own clients send a value derived from the passphrase (SECURITY.md), which does not open sealed_key; an owner who enrols with something else cannot sign in with them",
    ),
    public_key: z.base64url().max(64).describe("Ed25519 public key, 32 bytes"),
    sealed_key: z
      .base64url()
      .max(2000)
      .describe(
        "The private key sealed under the passphrase by the client; kept so that any device can sign",
      ),
  }),
  output: z.looseObject({ session: sessionView, token: z.string().describe("hfs_…; also set as a cookie") }),
  route: { method: "POST", path: "/v1/sessions/enrol" },
  errors: ["code_refused", "wrong_state"],
  consequence: "administer",
  scope: "public",
  command: { noun: "owners", verb: "enrol", arguments: [] },
});

export const sessionCreate = operation({
  name: "session.create",
  title: "Sign in",
  summary: "Sign in with name and passphrase",
  description: "Makes a session. Attempts are limited and recorded.",
  input: z.object({ name: ownerName, passphrase: z.string().max(1000) }),
  output: z.looseObject({ session: sessionView, token: z.string(), sealed_key: z.string() }),
  route: { method: "POST", path: "/v1/sessions" },
  consequence: "administer",
  scope: "public",
  command: { noun: "owners", verb: "login", arguments: ["name"] },
});

export const sessionGet = operation({
  name: "session.get",
  title: "Look at the session",
  summary: "Show the current session",
  description: "Answers who is signed in and until when.",
  input: z.object({}),
  output: sessionView,
  route: { method: "GET", path: "/v1/session" },
  consequence: "observe",
  scope: "owner",
  command: { noun: "owners", verb: "session", arguments: [] },
});

export const sessionConfirm = operation({
  name: "session.confirm",
  title: "Confirm the session",
  summary: "Give the passphrase again; good for five minutes",
  description: "Owner verbs that change who may do what ask for this.",
  input: z.object({ passphrase: z.string().max(1000) }),
  output: sessionView,
  route: { method: "POST", path: "/v1/session/confirm" },
  consequence: "administer",
  scope: "owner",
  repeatable: true,
  command: { noun: "owners", verb: "confirm", arguments: [] },
});

export const sessionDelete = operation({
  name: "session.delete",
  title: "Sign out",
  summary: "End the current session",
  description: "Ends the session at once.",
  input: z.object({}),
  output: z.looseObject({ ended: z.boolean() }),
  route: { method: "DELETE", path: "/v1/session" },
  consequence: "administer",
  scope: "owner",
  repeatable: true,
  command: { noun: "owners", verb: "logout", arguments: [] },
});
