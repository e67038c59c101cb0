-- What was done, what may be asked twice, and what is told.

create table operations (
  id text primary key,
  account_id text not null,
  node_id text not null,
  operation text not null,
  principal_id text not null,
  credential_id text not null,
  source text not null,
  target text,
  outcome text not null check (outcome in ('running', 'succeeded', 'failed', 'refused', 'unknown')),
  error text,
  input_digest bytea not null,
  started_at_ms bigint not null,
  duration_ms integer
);
create index operations_account on operations (account_id, id desc);
create index operations_principal on operations (principal_id, id desc);
create index operations_target on operations (target, id desc) where target is not null;
create index operations_running on operations (node_id, id) where outcome = 'running';

create table idempotency_keys (
  principal_id text not null,
  operation text not null,
  key text not null,
  input_digest bytea not null,
  operation_id text not null,
  state text not null check (state in ('running', 'succeeded', 'failed', 'unknown')),
  target text,
  output jsonb,
  error jsonb,
  expires_at_ms bigint not null,
  primary key (principal_id, operation, key)
);
create index idempotency_keys_operation on idempotency_keys (operation_id);
create index idempotency_keys_expiry on idempotency_keys (expires_at_ms);

-- Written in the change's transaction without a number. Numbers are given after commit, by one at a time: a number taken inside the
-- transaction could become visible after a higher one, and a reader who resumes from the higher would miss it.
create table events (
  id bigint generated always as identity primary key,
  number bigint,
  account_id text not null,
  kind text not null,
  target text,
  computer_id text,
  visible_to text,
  at_ms bigint not null,
  data jsonb not null
);
create unique index events_number on events (number) where number is not null;
create index events_unnumbered on events (id) where number is null;
create sequence event_numbers;
