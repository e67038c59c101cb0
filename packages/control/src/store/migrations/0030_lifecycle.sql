-- What computers do by themselves, and where they come from.

alter table computers drop constraint computers_state_check;
alter table computers add constraint computers_state_check
  check (state in ('creating', 'awake', 'asleep', 'stopped', 'archived', 'failed', 'destroyed'));
alter table computers drop constraint computers_desired_state_check;
alter table computers add constraint computers_desired_state_check
  check (desired_state in ('awake', 'asleep', 'stopped', 'archived', 'destroyed'));

alter table computers
  -- Why `desired_state` is what it is: what the event of the transition tells.
  add column desired_cause text not null default 'asked',
  -- Milliseconds; 0: never; null: what its size has.
  add column sleep_after_ms bigint,
  add column stop_after_ms bigint,
  add column archive_after_ms bigint not null default 0,
  add column keep_awake boolean not null default false,
  -- Automatic snapshots that are kept.
  add column keep_hourly integer not null default 0,
  add column keep_daily integer not null default 0,
  add column keep_weekly integer not null default 0,
  -- When something was last done on it, as far as was written down; written now and then.
  add column active_at_ms bigint not null default 0,
  -- Since when `state` is what it is.
  add column state_since_ms bigint not null default 0,
  -- When it is destroyed by itself. Null: durable.
  add column expires_at_ms bigint,
  -- The computer it is a child of and ends with, and whose that one is.
  add column parent_id text references computers,
  add column delegator_id text,
  -- The snapshot its volume is made from; null: from the image. Its identity is made new before anything of it runs while `identity_due`.
  add column origin_snapshot_id text,
  add column identity_due boolean not null default false,
  -- An import fills it before it counts as made.
  add column filling boolean not null default false,
  -- A restoring that is under way: what of, under which id (of the snapshot of what is replaced), and what it is to be afterwards.
  add column restore_snapshot_id text,
  add column restore_id text,
  add column restore_definitions boolean not null default false,
  add column restore_then text check (restore_then in ('awake', 'asleep', 'stopped')),
  -- Of its archive, once that is sealed: SHA-256 in hexadecimal, and size.
  add column archive_digest text,
  add column archive_bytes bigint;

update computers set active_at_ms = updated_at_ms, state_since_ms = updated_at_ms;
create index computers_parent on computers (parent_id) where parent_id is not null and state <> 'destroyed';
create index computers_expiry on computers (expires_at_ms) where expires_at_ms is not null and state <> 'destroyed';

create table holds (
  id text primary key,
  computer_id text not null references computers,
  principal_id text not null,
  reason text not null,
  -- It ends with this process too.
  process_id text,
  taken_at_ms bigint not null,
  expires_at_ms bigint not null
);
create index holds_computer on holds (computer_id, expires_at_ms);

-- Cells that nobody owns: what walks a stranger's files runs in one and is destroyed. Written down before the volume is made, so that none
-- is left over a crash.
create table throwaways (
  computer_id text primary key,
  node_id text not null,
  purpose text not null,
  created_at_ms bigint not null
);

-- A process that keeps its computer awake while it runs.
alter table processes add column keep_awake boolean not null default false;
create index processes_keep_awake on processes (computer_id) where keep_awake;
