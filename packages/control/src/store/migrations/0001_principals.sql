-- Who there is. Times are Unix milliseconds of control's clock.

create table accounts (
  id text primary key,
  name text not null,
  created_at_ms bigint not null
);

create table nodes (
  id text primary key,
  name text not null,
  seen_at_ms bigint not null
);

create table owners (
  id text primary key,
  account_id text not null references accounts,
  name text not null,
  state text not null check (state in ('invited', 'active', 'removed')),
  passphrase_hash text,
  public_key text,
  -- Sealed by the client under the passphrase; control cannot open it.
  sealed_key text,
  created_at_ms bigint not null,
  last_seen_at_ms bigint,
  removed_at_ms bigint,
  check (state <> 'active' or (passphrase_hash is not null and public_key is not null and sealed_key is not null))
);
create unique index owners_name on owners (account_id, name) where state <> 'removed';

-- One per owner: a new code voids the one before it.
create table login_codes (
  owner_id text primary key references owners,
  code_hash bytea not null unique,
  created_by text not null,
  expires_at_ms bigint not null
);

create table sessions (
  id text primary key,
  owner_id text not null references owners,
  token_hash bytea not null unique,
  created_at_ms bigint not null,
  expires_at_ms bigint not null,
  confirmed_until_ms bigint not null,
  ended_at_ms bigint
);
create index sessions_owner on sessions (owner_id) where ended_at_ms is null;

create table assistants (
  id text primary key,
  account_id text not null references accounts,
  name text not null,
  created_at_ms bigint not null
);
create unique index assistants_name on assistants (account_id, name);

create table keys (
  id text primary key,
  account_id text not null references accounts,
  assistant_id text not null references assistants,
  -- SHA-256 of a 256-bit random secret: nothing slower is needed to keep it from being guessed.
  token_hash bytea not null unique,
  ceilings jsonb not null,
  created_by text not null,
  created_at_ms bigint not null,
  expires_at_ms bigint,
  revoked_at_ms bigint,
  last_used_at_ms bigint
);
create index keys_account on keys (account_id, id);

-- Sign-in attempts, by owner name and by address.
create table login_attempts (
  subject text primary key,
  window_start_ms bigint not null,
  attempts integer not null
);
