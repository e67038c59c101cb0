import { type RawBuilder, sql } from "kysely";
import type { Database, Transaction } from "./transaction.ts";

/** What a credential may do on one project, at the time of the statement. */
export interface RightRow {
  /** The credential: `vis_…`, `key_…` or `ses_…`. */
  readonly credential_id: string;
  readonly project_id: string;
  readonly who: "owner" | "share" | "assistant";
  /** The principal, or the share. */
  readonly subject: string;
  readonly expires_at_ms: number | null;
}

/** One credential on one project. */
export interface RightName {
  readonly credentialId: string;
  readonly projectId: string;
}

/**
 * The good ones among the rights that are `named` (credential_id, project_id), for each kind of credential: so there is one place that says
 * what a right ends with, whether it is found or looked at again. All end with their project (destroyed), and …
 */
const good = {
  /** … the visit (expired), and the owner's session that made its ticket (ended), the owner (removed), or the share (revoked). */
  visit: (named: RawBuilder<unknown>, nowMs: number) => sql`
    select credential.id as credential_id, project.id as project_id,
      case when credential.share_id is null then 'owner' else 'share' end as who,
      coalesce(credential.share_id, owner.id) as subject, credential.expires_at_ms
    from ${named}
    join visit_sessions as credential on credential.id = named.credential_id
      and credential.project_id = named.project_id
    join projects as project on project.id = named.project_id and project.state = 'living'
    left join sessions as session on session.id = credential.session_id and session.ended_at_ms is null
    left join owners as owner on owner.id = session.owner_id and owner.state = 'active'
      and owner.account_id = project.account_id
    left join shares as share on share.id = credential.share_id and share.revoked_at_ms is null
    where credential.expires_at_ms > ${nowMs} and (owner.id is not null or share.id is not null)`,
  /** … the key (revoked, expired). Its assistant is the one that the project belongs to. */
  key: (named: RawBuilder<unknown>, nowMs: number) => sql`
    select credential.id as credential_id, project.id as project_id, 'assistant' as who,
      credential.assistant_id as subject, credential.expires_at_ms
    from ${named}
    join keys as credential on credential.id = named.credential_id
    join projects as project on project.id = named.project_id and project.state = 'living'
      and project.principal_id = credential.assistant_id and project.account_id = credential.account_id
    where credential.revoked_at_ms is null
      and (credential.expires_at_ms is null or credential.expires_at_ms > ${nowMs})`,
  /** … the session (ended, expired), and the owner (removed). Owners have a right on all projects of the account. */
  session: (named: RawBuilder<unknown>, nowMs: number) => sql`
    select credential.id as credential_id, project.id as project_id, 'owner' as who,
      credential.owner_id as subject, credential.expires_at_ms
    from ${named}
    join sessions as credential on credential.id = named.credential_id
    join owners as owner on owner.id = credential.owner_id and owner.state = 'active'
    join projects as project on project.id = named.project_id and project.state = 'living'
      and project.account_id = owner.account_id
    where credential.ended_at_ms is null and credential.expires_at_ms > ${nowMs}`,
} as const;

const tables = { visit: "visit_sessions", key: "keys", session: "sessions" } as const;

/** The right of the credential with this hash on this project; undefined when it has none, or there is no such project. */
export const findRight = async (
  db: Database,
  kind: keyof typeof good,
  tokenHash: Buffer,
  projectId: string,
  nowMs: number,
): Promise<RightRow | undefined> => {
  const named = sql`(
    select id as credential_id, ${projectId}::text as project_id
    from ${sql.table(tables[kind])} where token_hash = ${tokenHash}
  ) as named`;
  const { rows } = await sql<RightRow>`${good[kind](named, nowMs)}`.execute(db);
  return rows[0];
};

/** Those of these rights that are good. */
export const findGoodRights = async (
  db: Database,
  names: readonly RightName[],
  nowMs: number,
): Promise<readonly RightRow[]> => {
  const of = (prefix: string) => {
    const these = names.filter(({ credentialId }) => credentialId.startsWith(prefix));
    return sql`unnest(${these.map(({ credentialId }) => credentialId)}::text[],
      ${these.map(({ projectId }) => projectId)}::text[]) as named (credential_id, project_id)`;
  };
  const { rows } = await sql<RightRow>`
    ${good.visit(of("vis_"), nowMs)}
    union all ${good.key(of("key_"), nowMs)}
    union all ${good.session(of("ses_"), nowMs)}`.execute(db);
  return rows;
};

export interface NewTicket {
  readonly tokenHash: Buffer;
  readonly projectId: string;
  readonly sessionId: string;
  readonly expiresAtMs: number;
}

export const insertTicket = async (transaction: Transaction, ticket: NewTicket): Promise<void> => {
  await transaction
    .insertInto("tickets")
    .values({
      token_hash: ticket.tokenHash,
      project_id: ticket.projectId,
      session_id: ticket.sessionId,
      expires_at_ms: ticket.expiresAtMs,
    })
    .execute();
};

export interface NewVisit {
  readonly id: string;
  readonly projectId: string;
  readonly tokenHash: Buffer;
  readonly nowMs: number;
  /** At the latest. */
  readonly expiresAtMs: number;
}

/** Spends the ticket with this hash for a visit, in one statement: of many at once one gets it. Answers when the visit expires. */
export const tradeTicket = async (
  db: Database,
  ticketHash: Buffer,
  visit: NewVisit,
): Promise<number | undefined> => {
  const { rows } = await sql<{ readonly expires_at_ms: number }>`
    with spent as (
      delete from tickets where token_hash = ${ticketHash} and project_id = ${visit.projectId}
      returning session_id, expires_at_ms
    )
    insert into visit_sessions (id, project_id, token_hash, session_id, share_id, created_at_ms, expires_at_ms)
    select ${visit.id}::text, project.id, ${visit.tokenHash}::bytea, session.id, null, ${visit.nowMs}::bigint,
      least(session.expires_at_ms, ${visit.expiresAtMs}::bigint)
    from spent
    join sessions as session on session.id = spent.session_id and session.ended_at_ms is null
    join owners as owner on owner.id = session.owner_id and owner.state = 'active'
    join projects as project on project.id = ${visit.projectId} and project.state = 'living'
      and project.account_id = owner.account_id
    where spent.expires_at_ms > ${visit.nowMs} and session.expires_at_ms > ${visit.nowMs}
    returning expires_at_ms`.execute(db);
  return rows[0]?.expires_at_ms;
};

/** A visit for whoever has a share's link; it may be traded again and again. Answers when the visit expires. */
export const tradeShare = async (
  db: Database,
  shareHash: Buffer,
  visit: NewVisit,
): Promise<number | undefined> => {
  const { rows } = await sql<{ readonly expires_at_ms: number }>`
    insert into visit_sessions (id, project_id, token_hash, session_id, share_id, created_at_ms, expires_at_ms)
    select ${visit.id}::text, project.id, ${visit.tokenHash}::bytea, null, share.id, ${visit.nowMs}::bigint,
      least(share.expires_at_ms, ${visit.expiresAtMs}::bigint)
    from shares as share
    join projects as project on project.id = share.project_id and project.state = 'living'
    where share.token_hash = ${shareHash} and share.project_id = ${visit.projectId}
      and share.revoked_at_ms is null and share.expires_at_ms > ${visit.nowMs}
    returning expires_at_ms`.execute(db);
  return rows[0]?.expires_at_ms;
};

/**
 * Ends a project's visits past `most`, each time one of the share (or owner's session) that has most of them, its oldest first: who trades one
 * link over and over again ends nobody else's.
 */
export const trimVisits = async (db: Database, projectId: string, most: number): Promise<void> => {
  const { held } = await db
    .selectFrom("visit_sessions")
    .select((select) => select.fn.countAll<number>().as("held"))
    .where("project_id", "=", projectId)
    .executeTakeFirstOrThrow();
  if (held <= most) return;
  await sql`
    delete from visit_sessions where id in (
      select id from (
        select id, row_number() over (partition by coalesce(share_id, session_id) order by created_at_ms desc, id desc) as place
        from visit_sessions where project_id = ${projectId}
      ) as visit
      order by place desc, id limit ${held - most}
    )`.execute(db);
};

/** Forgets what can open nothing any more. */
export const deleteOldVisits = async (db: Database, nowMs: number): Promise<void> => {
  await db.deleteFrom("tickets").where("expires_at_ms", "<=", nowMs).execute();
  await db.deleteFrom("visit_sessions").where("expires_at_ms", "<=", nowMs).execute();
};
