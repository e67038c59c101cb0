-- Computers, and what runs on them. `state` is what was observed last, `desired_state` what was asked for.

create table computers (
  id text primary key,
  account_id text not null references accounts,
  node_id text not null,
  principal_id text not null,
  name text not null,
  description text not null,
  size text not null,
  environment jsonb not null,
  state text not null check (state in ('creating', 'awake', 'asleep', 'stopped', 'failed', 'destroyed')),
  desired_state text not null check (desired_state in ('awake', 'asleep', 'stopped', 'destroyed')),
  reason text,
  image text,
  cell_id text,
  version bigint not null default 1,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  awake_since_ms bigint
);
create unique index computers_name on computers (principal_id, name) where state <> 'destroyed';
create index computers_account on computers (account_id, id desc);

create table processes (
  id text primary key,
  computer_id text not null references computers,
  cell_id text,
  operation_id text not null,
  principal_id text not null,
  command text not null,
  terminal boolean not null,
  state text not null check (state in ('starting', 'running', 'ended')),
  exit jsonb,
  timed_out boolean not null default false,
  out_of_memory boolean not null default false,
  started_at_ms bigint not null,
  ended_at_ms bigint,
  output_bytes bigint not null default 0,
  dropped_bytes bigint not null default 0
);
create index processes_computer on processes (computer_id, id desc);
create index processes_running on processes (computer_id) where state <> 'ended';

create table services (
  id text primary key,
  computer_id text not null references computers,
  name text not null,
  definition jsonb not null,
  desired_state text not null check (desired_state in ('running', 'stopped')),
  version bigint not null default 1,
  created_at_ms bigint not null,
  updated_at_ms bigint not null
);
create unique index services_name on services (computer_id, name);
