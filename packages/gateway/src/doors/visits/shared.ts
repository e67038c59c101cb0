import type { Route } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { RequestHead } from "../../head/request.ts";
import type { Proxy } from "../../proxy/opening.ts";
import type { Records } from "../../records/batch.ts";
import type { Judge } from "../../rights/judge.ts";
import type { Traded } from "../../rights/trade.ts";
import type { Pages } from "../pages/pages.ts";

/** What all connections of visitors share. */
export interface Shared {
  readonly judge: Judge;
  readonly trade: (head: RequestHead, from: string) => Promise<Traded>;
  readonly proxy: Proxy;
  readonly pages: Pages;
  readonly records: Records;
  readonly clock: Clock;
  readonly scheme: "http" | "https";
  /** The TLS proxy on this host says who the visitor is. */
  readonly believesProxy: boolean;
  /** The door is closing: no connection is kept for another request. */
  readonly ending: () => boolean;
}

/** A project's route has changed, or is gone. */
export type RouteChange = { readonly projectId: string; readonly now: Route | undefined };
