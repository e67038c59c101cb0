import type { UserIds } from "../host/users.ts";
import type { Compiled } from "./compiled.ts";

/** A socket made for a program: descriptors 3… in this order. */
export type PlannedSocket =
  | { readonly kind: "unix"; readonly path: string; readonly gid: number; readonly mode: number }
  | { readonly kind: "tcp"; readonly address: string };

/** Everything about one program: how it is started, known to be ready, and stopped. */
export interface ProgramPlan {
  readonly name: string;
  readonly argv: readonly string[];
  /** Undefined: root, with all privileges. */
  readonly user: UserIds | undefined;
  readonly sockets: readonly PlannedSocket[];
  readonly environment: Readonly<Record<string, string>>;
  /** Changes whenever a running program is no longer what would be started now. */
  readonly label: string;
  /** Undefined: it is not a program of Node's. */
  readonly compiled?: Compiled;
  /** Mends what a violent end left behind. Called before each start. */
  readonly beforeStart?: () => Promise<void>;
  /** Resolves to what is the matter, or undefined when it serves. Rejects when it cannot be asked. */
  readonly health: () => Promise<string | undefined>;
  /** Asks for work to be put down before `stopSignal`; only when stopping for good. */
  readonly beforeStop?: () => Promise<void>;
  readonly stopSignal: NodeJS.Signals;
  /** What follows when it has not ended after `stopMs`. */
  readonly killSignal: NodeJS.Signals;
  readonly stopMs: number;
}
