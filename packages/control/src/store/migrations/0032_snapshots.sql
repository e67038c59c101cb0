-- Snapshots of computers, what was written down with each, and what children offer to their parents.

create table snapshots (
  id text primary key,
  account_id text not null references accounts,
  computer_id text not null references computers,
  -- Who asked for it; of an automatic one, whose the computer was.
  principal_id text not null,
  -- The operation that takes it: while that is under way nobody else judges the row. Null: none does.
  operation_id text,
  name text not null,
  note text not null,
  -- `passing`: taken for one fork, comparison or offer, and gone with it; nobody sees it.
  kind text not null check (kind in ('manual', 'hourly', 'daily', 'weekly', 'before_restore', 'passing')),
  -- The row is there before the snapshot and after it.
  state text not null check (state in ('taking', 'kept', 'deleting')),
  -- Services, projects, schedules and environment at that moment: some kilobytes mostly, and megabytes at most.
  definitions jsonb not null,
  -- How many are in them.
  services integer not null,
  projects integer not null,
  schedules integer not null,
  sync_ms bigint not null default 0,
  taken_at_ms bigint not null
);
create unique index snapshots_name on snapshots (computer_id, name);
create index snapshots_computer on snapshots (computer_id, id desc);
create index snapshots_operation on snapshots (operation_id) where operation_id is not null;
create index snapshots_unfinished on snapshots (id) where state <> 'kept' or kind = 'passing';

create table offers (
  id text primary key,
  account_id text not null references accounts,
  child_id text not null references computers,
  parent_id text not null references computers,
  -- A passing snapshot of the child. Deleted when the offer is decided.
  snapshot_id text not null,
  note text not null,
  paths jsonb not null,
  -- Every file, link and directory with its digest; forgotten when the offer is decided.
  manifest jsonb,
  entries bigint not null default 0,
  bytes bigint not null default 0,
  -- Of the manifest.
  digest text not null default '',
  -- `making`: not offered yet. `accepting`: nothing on the parent has changed. `placing`: it is changing, and is finished after a crash.
  state text not null check (state in ('making', 'open', 'accepting', 'placing', 'accepted', 'rejected', 'withdrawn')),
  operation_id text not null,
  made_by text not null,
  made_at_ms bigint not null,
  decided_by text,
  decided_at_ms bigint,
  decided_note text,
  -- The project that an acceptance commits to, and that commit.
  project_id text references projects,
  commit text
);
create index offers_child on offers (child_id, id desc);
create index offers_parent on offers (parent_id, id desc);
create index offers_snapshot on offers (snapshot_id);
create index offers_unfinished on offers (id) where state in ('making', 'open', 'accepting', 'placing');

-- The helper of a child: an assistant that is good for nothing when the child is not its own any more.
alter table assistants add column child_id text references computers;
create index assistants_child on assistants (child_id) where child_id is not null;
-- The key that a helper's key was given out under: it ends with that one.
alter table keys add column delegated_by text references keys;
create index keys_delegated on keys (delegated_by) where delegated_by is not null;
