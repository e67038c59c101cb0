import { z } from "zod";
import { idSchema } from "../ids.ts";
import { limits } from "../limits.ts";

const count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const port = z.number().int().min(1).max(65_535);
const project = z.object({ project_id: idSchema("project") });
/** What a visitor shows: bounded, otherwise unjudged. */
const token = z.string().min(1).max(limits.visitTokenLength);
/** Names one credential's right on one project; opaque to gateway. */
const rightId = z.string().min(1).max(120);

/** What is open to everyone. `path` is exact, or ends in `*` and then names what it begins with; `methods` null: every method. */
export const publicRule = z.object({
  methods: z
    .array(z.string().regex(/^[A-Z]{1,20}$/))
    .min(1)
    .max(9)
    .nullable(),
  path: z.string().startsWith("/").max(1024),
});

/** The path of a rule about a whole project. */
export const wholePath = "/*";
/** The rule by which all of a project is open. */
export const wholeProject: PublicRule = { methods: null, path: wholePath };

/** Whether a rule opens everything, so that nothing depends on how an app reads method and path. */
export const opensEverything = ({ methods, path }: PublicRule): boolean =>
  methods === null && path === wholePath;

export const route = project.extend({
  slug: z.string(),
  computer_id: idSchema("computer"),
  /** The web service's port inside the cell; null while there is none. */
  port: port.nullable(),
  /** Null: private. */
  published: z.array(publicRule).max(limits.publicRulesPerProject).nullable(),
  removed: z.boolean(),
});

export const right = z.object({
  id: rightId,
  who: z.enum(["owner", "share", "assistant"]),
  /** For the access records: the principal, or the share. */
  subject: z.string(),
  /** Whether it reaches ports other than the web service's (`<port>--<slug>`). */
  ports: z.boolean(),
  expires_at_ms: count,
});

export const accessRecord = project.extend({
  at_ms: count,
  /** Null: the web service. */
  port: port.nullable(),
  method: z.string().max(20),
  /** Without the query, which may hold secrets. */
  path: z.string().max(1024),
  status: z.number().int().min(100).max(999),
  received_bytes: count,
  sent_bytes: count,
  duration_ms: count,
  /** The subject of the right that was used; null: a visitor without one. */
  subject: z.string().max(60).nullable(),
});

/**
 * What gateway may ask of control, over `socketPath(instance, "control", "gateway")`. gateway has no database: it holds the routes it was
 * told, and asks control about every credential. While control does not answer, published routes go on and no right holds.
 */
export const controlGatewayMethods = {
  /**
   * The routes that changed after revision `after`, oldest change first, at most `limits.routesPerReply`; ask again from `next`. With
   * nothing new it waits up to `wait_ms`. From 0 it begins with what there is now, without the removed.
   */
  "routes.watch": {
    params: z.object({ after: count, wait_ms: z.number().int().min(0).max(limits.waitMs) }),
    result: z.object({ next: count, routes: z.array(route).max(limits.routesPerReply) }),
  },
  /** Turns a one-time ticket, or a share link's token, into a session of that project; null when it is not (or no longer) good. */
  "right.trade": {
    params: project.extend({ kind: z.enum(["ticket", "share"]), token }),
    result: z.object({ session: z.object({ token, expires_at_ms: count }).nullable() }),
  },
  /** What a credential may do on a project: a gateway session (cookie), or an assistant's key or an owner's session (header). */
  "right.find": {
    params: project.extend({ kind: z.enum(["cookie", "header"]), token }),
    result: z.object({ right: right.nullable() }),
  },
  /** Which of these rights still hold. Asked at least every `limits.rightCheckMs` for every right in use. */
  "right.hold": {
    params: z.object({ ids: z.array(rightId).max(limits.rightsPerCheck) }),
    result: z.object({ held: z.array(rightId) }),
  },
  /**
   * Brings a project's computer and web service up, and waits up to `wait_ms`. The right must have been checked: only then is it called.
   * `right_id` is the right it is woken for, which control looks at again; null: a visitor without one, for whom only what is published is
   * woken, and so often a day. `refused`: not for this right, or no more today. `failed` carries why, and the web service's last lines,
   * where the right is an owner's or an assistant's.
   */
  "project.wake": {
    params: project.extend({
      right_id: rightId.nullable(),
      wait_ms: z.number().int().min(0).max(limits.waitMs),
    }),
    result: z.object({
      state: z.enum(["ready", "starting", "failed", "refused", "no_service"]),
      retry_after_ms: count,
      reason: z.string().max(1000).nullable(),
      log: z.string().max(limits.crashPageLogBytes).nullable(),
    }),
  },
  /**
   * Projects whose visitors, with a right or where it is published, have sent or been sent something since the last report; every few
   * seconds while there are any. It keeps their computers awake.
   */
  "visits.report": {
    params: z.object({ project_ids: z.array(idSchema("project")).max(limits.routesPerReply) }),
    result: z.object({}),
  },
  /**
   * Computers that have begun to rest (frozen, or with no cell), or run again, since revision `after`, oldest change first; ask again from `next`.
   * With nothing new it waits up to `wait_ms`. Only a hint: one that rests is woken before it is spoken to, instead of waiting for its silence.
   * Revisions grow over starts of control; a `next` that is smaller than `after` means that all is to be asked anew, from 0.
   */
  "resting.watch": {
    params: z.object({ after: count, wait_ms: z.number().int().min(0).max(limits.waitMs) }),
    result: z.object({
      next: count,
      computers: z
        .array(z.object({ computer_id: idSchema("computer"), rests: z.boolean() }))
        .max(limits.routesPerReply),
    }),
  },
  "access.record": {
    params: z.object({ records: z.array(accessRecord).max(limits.accessRecordsPerBatch) }),
    result: z.object({}),
  },
} as const;

/** What the launcher may ask of gateway. */
export const gatewayLauncherMethods = {
  /** `ready` when it has routes from control, or had them. */
  health: {
    params: z.object({}),
    result: z.object({ ready: z.boolean(), version: z.string(), detail: z.string() }),
  },
} as const;

export type ControlGatewayMethods = typeof controlGatewayMethods;
export type GatewayLauncherMethods = typeof gatewayLauncherMethods;
export type Route = z.output<typeof route>;
export type PublicRule = z.output<typeof publicRule>;
export type Right = z.output<typeof right>;
export type AccessRecord = z.output<typeof accessRecord>;

/** How a visitor shows a key or an owner's session; taken out before a request reaches an app. */
export const keyHeader = "holdfast-key";
/** gateway's own cookie: of one project's origin, never of its parent. */
export const sessionCookie = "__Host-holdfast";
/** What of a project's origin is gateway's own: it trades tickets there and changes nothing. */
export const gatewayPrefix = "/.holdfast/";
