import { limits, type Right } from "@holdfast/contract";
import type { Clock, NewId } from "@holdfast/kit";
import type { Strangers } from "../domain/strangers.ts";
import { sha256 } from "../lib/digest.ts";
import { FewAtOnce } from "../lib/few-at-once.ts";
import {
  findGoodRights,
  findRight,
  type RightName,
  type RightRow,
  tradeShare,
  tradeTicket,
  trimVisits,
} from "../store/rights.ts";
import type { Database } from "../store/transaction.ts";

export interface RightsParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly newToken: (prefix: "hfv_") => { readonly token: string; readonly hash: Buffer };
  /** Counted by project: a flood at one address keeps nobody from another. */
  readonly strangers: Strangers;
}

/** What each place that takes a token knows of. Anything else costs no look-up. */
const forms = {
  ticket: /^hft_[A-Za-z0-9_-]{43}$/,
  share: /^hfl_[A-Za-z0-9_-]{43}$/,
  cookie: /^hfv_[A-Za-z0-9_-]{43}$/,
  header: /^hfs?_[A-Za-z0-9_-]{43}$/,
} as const;

/** Batches of rights that are looked at again: gateway asks for one after the other, each a statement about many rows. */
const heldAtOnce = { atOnce: 4, waiting: 64 };

interface Shown<K extends keyof typeof forms> {
  readonly project_id: string;
  readonly kind: K;
  readonly token: string;
}

export interface Session {
  readonly token: string;
  readonly expires_at_ms: number;
}

/**
 * Who may visit a project. Of what is not good it is never said why: no such project, no such token, one of another project, and one that has
 * ended all look the same.
 */
export class Rights {
  readonly #parts: RightsParts;
  readonly #holding = new FewAtOnce(heldAtOnce);

  constructor(parts: RightsParts) {
    this.#parts = parts;
  }

  /** A session of the project's origin for a ticket, which is spent by it, or for a share's link; null when it is not good. */
  async trade(shown: Shown<"ticket" | "share">): Promise<Session | null> {
    const { db, clock, ids, newToken } = this.#parts;
    const { project_id: projectId, kind } = shown;
    return this.#meet(shown, async (shownHash) => {
      const nowMs = clock.now();
      const { token, hash } = newToken("hfv_");
      const expiresAtMs = await (kind === "ticket" ? tradeTicket : tradeShare)(db, shownHash, {
        id: ids("visit"),
        projectId,
        tokenHash: hash,
        nowMs,
        expiresAtMs: nowMs + limits.visitSessionMs,
      });
      if (expiresAtMs === undefined) return undefined;
      await trimVisits(db, projectId, limits.visitSessionsPerProject);
      this.introduce("cookie", projectId, hash);
      return { token, expires_at_ms: expiresAtMs };
    });
  }

  async find(shown: Shown<"cookie" | "header">): Promise<Right | null> {
    const { db, clock } = this.#parts;
    const nowMs = clock.now();
    const row = await this.#meet(shown, (hash) =>
      findRight(db, kindOf(shown.token), hash, shown.project_id, nowMs),
    );
    return row && rightOf(row, nowMs);
  }

  /** Those of these that are still good. */
  async hold(rightIds: readonly string[]): Promise<string[]> {
    const names = rightIds.flatMap((id) => nameOf(id) ?? []);
    if (names.length === 0) return [];
    return this.#holding.run(async () =>
      (await findGoodRights(this.#parts.db, names, this.#parts.clock.now())).map(idOf),
    );
  }

  /** Whose right on that project this is; undefined when it is none, or not good any more. */
  async holder(rightId: string, projectId: string): Promise<Right["who"] | undefined> {
    const name = nameOf(rightId);
    if (name?.projectId !== projectId) return undefined;
    const [row] = await findGoodRights(this.#parts.db, [name], this.#parts.clock.now());
    return row?.who;
  }

  /** It was made just now: whoever shows it is no stranger, whatever comes from beside it. */
  introduce(kind: keyof typeof forms, projectId: string, tokenHash: Buffer): void {
    this.#parts.strangers.introduce(strangerName(kind, projectId, tokenHash));
  }

  async #meet<T>(
    { kind, project_id: projectId, token }: Shown<keyof typeof forms>,
    load: (hash: Buffer) => Promise<T | undefined>,
  ): Promise<T | null> {
    if (!forms[kind].test(token)) return null;
    const hash = sha256(token);
    const name = strangerName(kind, projectId, hash);
    return (await this.#parts.strangers.meet(name, projectId, () => load(hash))) ?? null;
  }
}

const strangerName = (kind: keyof typeof forms, projectId: string, hash: Buffer): string =>
  `${kind} ${projectId} ${hash.toString("base64")}`;

const kindOf = (token: string): "visit" | "key" | "session" => {
  if (token.startsWith("hfv_")) return "visit";
  return token.startsWith("hfs_") ? "session" : "key";
};

const rightOf = (row: RightRow, nowMs: number): Right => ({
  id: idOf(row),
  who: row.who,
  subject: row.subject,
  ports: row.who !== "share",
  // A key may be without an end. gateway looks again at every right in use anyway.
  expires_at_ms: row.expires_at_ms ?? nowMs + limits.visitSessionMs,
});

/** `<credential>@<project>`: what can be looked at again without the token. */
const idOf = (row: RightRow): string => `${row.credential_id}@${row.project_id}`;

const nameOf = (rightId: string): RightName | undefined => {
  const [, credentialId, projectId] =
    /^((?:vis|key|ses)_[0-9a-z]{20})@(prj_[0-9a-z]{20})$/.exec(rightId) ?? [];
  return credentialId === undefined || projectId === undefined ? undefined : { credentialId, projectId };
};
