-- Who may visit a project besides those it is published to, and who did. Of tokens only the SHA-256 is kept: all are 256 random bits.

-- One-time: whoever deletes the row has used it.
create table tickets (
  token_hash bytea primary key,
  project_id text not null references projects,
  -- The owner's session that made it: what it opens ends with that.
  session_id text not null references sessions on delete cascade,
  expires_at_ms bigint not null
);
create index tickets_expiry on tickets (expires_at_ms);
create index tickets_session on tickets (session_id);

create table shares (
  id text primary key,
  project_id text not null references projects,
  label text not null,
  token_hash bytea not null unique,
  created_by text not null,
  created_at_ms bigint not null,
  expires_at_ms bigint not null,
  revoked_at_ms bigint
);
create index shares_project on shares (project_id, id desc);

-- A browser that is signed in to one project's origin, by an owner's ticket or by a share's link. It expires no later than what it came of.
create table visit_sessions (
  id text primary key,
  project_id text not null references projects,
  token_hash bytea not null unique,
  session_id text references sessions on delete cascade,
  share_id text references shares on delete cascade,
  created_at_ms bigint not null,
  expires_at_ms bigint not null,
  check ((session_id is null) <> (share_id is null))
);
create index visit_sessions_project on visit_sessions (project_id);
create index visit_sessions_expiry on visit_sessions (expires_at_ms);
create index visit_sessions_session on visit_sessions (session_id) where session_id is not null;
create index visit_sessions_share on visit_sessions (share_id) where share_id is not null;

-- How often visitors without a right started a project on one day (days since 1970, UTC).
create table visitor_wakes (
  project_id text primary key references projects,
  day integer not null,
  wakes integer not null
);

-- What gateway says it served.
create table access_records (
  id bigint generated always as identity primary key,
  project_id text not null references projects,
  at_ms bigint not null,
  port integer,
  method text not null,
  path text not null,
  status integer not null,
  received_bytes bigint not null,
  sent_bytes bigint not null,
  duration_ms bigint not null,
  subject text
);
create index access_records_project on access_records (project_id, id desc);
