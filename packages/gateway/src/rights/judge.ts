import { limits, opensEverything, type Route } from "@holdfast/contract";
import { readPlace } from "../head/host.ts";
import type { RequestHead } from "../head/request.ts";
import { matchRule } from "../routes/rules.ts";
import type { RouteTable } from "../routes/table.ts";
import { isSafeWithCookie } from "./cross-site.ts";
import { nobodysProject } from "./nobodys-project.ts";
import type { Credential, FoundRight, HeldRight, Rights } from "./rights.ts";
import type { WrongCredentials } from "./wrong-credentials.ts";

/** What becomes of a request, before anything of a computer is touched. */
export type Verdict =
  | {
      readonly kind: "allowed";
      readonly route: Route;
      /** Undefined: the web service's. */
      readonly port: number | undefined;
      /** Undefined: by a rule that is open to everyone. */
      readonly right: HeldRight | undefined;
      /** The rule is about some methods or paths only. */
      readonly narrow: boolean;
    }
  /** No right was shown; the same for every host. */
  | { readonly kind: "nothing" }
  /** What was shown gives no right. */
  | { readonly kind: "refused" }
  /** A cookie came along with what another site made a browser send. */
  | { readonly kind: "cross_site" }
  /** Control cannot say. */
  | { readonly kind: "unavailable" }
  /** Too much that gives no right was shown from there. */
  | { readonly kind: "too_many" };

export interface Judge {
  /** At once where nothing has to be asked. `from` is the visitor's address. Never rejects. */
  judge(head: RequestHead, from: string): Verdict | Promise<Verdict>;
  /** The same without regard to what is open to everyone: what the credential alone is good for. */
  judgeCredential(head: RequestHead, from: string): Verdict | Promise<Verdict>;
  /** Whether a request that a rule let in would be let in now. */
  stillOpen(route: Route | undefined, head: Pick<RequestHead, "method" | "path">): boolean;
}

/**
 * Rights before anything starts. Without a credential the answer comes from memory alone, on one way for hosts that are known, unknown,
 * private and removed; with one, each of them costs one question to control. A route's own rules come first: what is open is open.
 */
export const createJudge = (options: {
  readonly domain: string;
  readonly scheme: "http" | "https";
  readonly table: RouteTable;
  readonly rights: Rights;
  readonly wrong: WrongCredentials;
}): Judge => {
  const { domain, scheme, table, rights, wrong } = options;

  const judgeCredential = (head: RequestHead, from: string): Verdict | Promise<Verdict> => {
    const place = readPlace(head.host, domain);
    const route = place && table.find(place.slug);
    const port = place?.port;
    const credential = readCredential(head);
    if (!credential) return { kind: "nothing" };
    if (credential.kind === "cookie") {
      const safe = isSafeWithCookie(head, `${scheme}://${head.hostHeader.toLowerCase()}`);
      if (safe === "no") return { kind: "cross_site" };
      if (safe === "not_shown") return { kind: "nothing" };
    }
    const projectId = route?.project_id ?? nobodysProject(place?.slug);
    const known = rights.known(projectId, credential);
    if (known) return verdictOf(known, route, port);
    if (!wrong.mayTry(from)) return { kind: "too_many" };
    return rights.find(projectId, credential).then((settled) => {
      if (settled !== "refused") wrong.wasRight(from);
      // Asking took its time: the project may have gone, or moved, meanwhile.
      const now = place && table.find(place.slug);
      return verdictOf(settled, now?.project_id === route?.project_id ? now : undefined, port);
    });
  };

  return {
    judge: (head, from) => {
      // Who has not been told yet what there is cannot say that something is not there.
      if (!table.filled) return { kind: "unavailable" };
      const place = readPlace(head.host, domain);
      const route = place && table.find(place.slug);
      if (route && place.port === undefined) {
        const rule = matchRule(route.published, head.method, head.path);
        if (rule)
          return {
            kind: "allowed",
            route,
            port: undefined,
            right: undefined,
            narrow: !opensEverything(rule),
          };
      }
      return judgeCredential(head, from);
    },
    judgeCredential,
    stillOpen: (route, { method, path }) =>
      route !== undefined && matchRule(route.published, method, path) !== undefined,
  };
};

const verdictOf = (found: FoundRight, route: Route | undefined, port: number | undefined): Verdict => {
  if (found === "unavailable") return { kind: "unavailable" };
  if (found === "refused" || route === undefined) return { kind: "refused" };
  // A right on the project that does not reach its other ports: as if nothing were there.
  if (port !== undefined && !found.right.ports) return { kind: "nothing" };
  return { kind: "allowed", route, port, right: found, narrow: false };
};

/** A header that is there decides alone, also when it is empty or odd: it was shown. */
const readCredential = ({ key, session }: RequestHead): Credential | undefined => {
  if (key !== undefined) return { kind: "header", token: bounded(key) };
  if (session !== undefined) return { kind: "cookie", token: bounded(session) };
  return undefined;
};

/** What cannot be a token is asked about all the same, in a form that the question allows. */
const bounded = (token: string): string =>
  token === "" || token.length > limits.visitTokenLength ? "-" : token;
