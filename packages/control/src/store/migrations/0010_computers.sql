-- Computers, and what runs on them. `state` is what was observed last, `desired_state` what was asked for; the reconciler alone moves one
-- to the other.

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
  -- Why it is where it is, and the error code to answer with, when there is something to say.
  reason text,
  failure_code text,
  -- Failed tries of the current move, and cells in a row that ended by themselves soon after their start.
  attempts integer not null default 0,
  crashes integer not null default 0,
  image text,
  cell_id text,
  -- Size that the supervisor was told last; another one than `size` is a resize that is due.
  applied_size text,
  -- Grows with each change of what its services should be.
  services_revision bigint not null default 1,
  version bigint not null default 1,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  awake_since_ms bigint
);
-- A name is free again as soon as the destruction of its computer was asked for.
create unique index computers_name on computers (principal_id, name) where desired_state <> 'destroyed';
create index computers_account on computers (account_id, id desc);
create index computers_living on computers (node_id, id) where state <> 'destroyed';

create table processes (
  id text primary key,
  computer_id text not null references computers,
  -- The cell it runs in; null until it is known to run.
  cell_id text,
  operation_id text not null,
  principal_id text not null,
  command text not null,
  terminal boolean not null,
  stdin_open boolean not null,
  state text not null check (state in ('starting', 'running', 'ended')),
  exit jsonb,
  timed_out boolean not null default false,
  out_of_memory boolean not null default false,
  background boolean not null default false,
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
  -- The computer's environment when the service was started or changed last: a later change of it restarts nothing by itself.
  base_environment jsonb not null,
  desired_state text not null check (desired_state in ('running', 'stopped')),
  -- What events were told about last.
  told_state text not null default 'unknown',
  version bigint not null default 1,
  created_at_ms bigint not null,
  updated_at_ms bigint not null
);
create unique index services_name on services (computer_id, name);
