import { type ControlGatewayMethods, gatewayPrefix, limits } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";
import { readPlace } from "../head/host.ts";
import { decodeAscii } from "../head/path.ts";
import type { RequestHead } from "../head/request.ts";
import type { RouteTable } from "../routes/table.ts";
import { nobodysProject } from "./nobodys-project.ts";
import type { WrongCredentials } from "./wrong-credentials.ts";

export interface Session {
  readonly token: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** What comes of a request to the gateway's own part of an origin. `nothing`: no such page, as of any path without a right. */
export type Traded = Session | "nothing" | "refused" | "unavailable" | "too_many";

const tradesAtOnce = 100;
const tradeMs = 5000;

/** Whether the path is the gateway's own, however it is spelled: an app never sees what may hold a ticket. */
export const isOwnPath = (path: string): boolean => {
  if (path.startsWith(gatewayPrefix)) return true;
  if (!/^\/+(\.|%)/.test(path)) return false;
  return /^\/+\.holdfast(\/|$)/i.test(decodeAscii(path));
};

/** Trades tickets and share links for sessions; changes nothing, and asks control the same way for every host. */
export const createTrade = (options: {
  readonly domain: string;
  readonly table: RouteTable;
  readonly control: RpcClient<ControlGatewayMethods>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wrong: WrongCredentials;
}): ((head: RequestHead, from: string) => Promise<Traded>) => {
  const { domain, table, control, clock, logger, wrong } = options;
  let underWay = 0;

  return async (head, from) => {
    const kind = kinds.get(head.path);
    if (kind === undefined || head.method !== "GET") return "nothing";
    // A page's own script, or a worker of it, does not trade what a person was given; nor does what another page embeds, which a person
    // does not see: it would spend the ticket, or put another session in the place of theirs.
    if (head.fetchMode !== undefined && head.fetchMode !== "navigate") return "nothing";
    if (head.fetchDest !== undefined && embedded.has(head.fetchDest)) return "nothing";
    const tokens = new URLSearchParams(head.target.slice(head.path.length)).getAll("t");
    const [token] = tokens;
    if (token === undefined || tokens.length > 1 || token === "" || token.length > limits.visitTokenLength)
      return "refused";
    if (underWay >= tradesAtOnce || !table.filled) return "unavailable";
    if (!wrong.mayTry(from)) return "too_many";
    const place = readPlace(head.host, domain);
    const route = place && table.find(place.slug);
    underWay += 1;
    try {
      const { session } = await control.call(
        "right.trade",
        { project_id: route?.project_id ?? nobodysProject(place?.slug), kind, token },
        { timeoutMs: tradeMs },
      );
      if (!session || session.expires_at_ms <= clock.now()) return "refused";
      wrong.wasRight(from);
      return { token: session.token, expiresAtMs: session.expires_at_ms };
    } catch (error) {
      logger.debug("control did not trade", { kind, error });
      wrong.wasRight(from);
      return "unavailable";
    } finally {
      underWay -= 1;
    }
  };
};

/** A navigation that a page's worker passes on says `empty`, whatever it is for. */
const embedded: ReadonlySet<string> = new Set(["embed", "fencedframe", "frame", "iframe", "object"]);

const kinds: ReadonlyMap<string, "ticket" | "share"> = new Map([
  [`${gatewayPrefix}ticket`, "ticket"],
  [`${gatewayPrefix}share`, "share"],
]);
