-- What runs at set times or by events, and each run. Times are Unix milliseconds of control's wall clock.

create table schedules (
  id text primary key,
  account_id text not null,
  computer_id text not null references computers,
  -- The project it is shown with; null: of the computer alone.
  project_id text,
  name text not null,
  created_by text not null,
  -- `ended`: it has no further slot. `deleted`: nobody sees it; it goes once its last run has ended.
  state text not null check (state in ('active', 'paused', 'ended', 'deleted')),
  -- Its timing: exactly one of these four.
  cron text,
  every_ms bigint,
  at_ms bigint,
  event boolean not null default false,
  -- From when `every_ms` counts.
  anchor_ms bigint not null,
  time_zone text not null,
  -- command or argv, cwd, environment, user.
  command jsonb not null,
  timeout_ms bigint not null,
  missed text not null check (missed in ('skip', 'run_once', 'run_each')),
  missed_most integer not null,
  overlap text not null check (overlap in ('skip', 'queue', 'replace')),
  retries integer not null,
  retry_backoff_ms bigint not null,
  retries_per_day integer not null,
  -- The day of UTC (since 1970) that `retries_used` counts for.
  retry_day integer not null default 0,
  retries_used integer not null default 0,
  place text not null check (place in ('computer', 'fork')),
  -- The first slot that no run was made for; null: it has none, or makes none now.
  next_slot_ms bigint,
  -- What the clock said when slots were last turned into runs: a later time than now means that the clock was set back.
  claimed_at_ms bigint not null default 0,
  -- SHA-256 of the key that starts a run by an event.
  event_key_hash bytea,
  version integer not null default 1,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  check ((cron is not null)::int + (every_ms is not null)::int + (at_ms is not null)::int + event::int = 1),
  check (next_slot_ms is null or state = 'active'),
  check (event = (event_key_hash is not null))
);
create unique index schedules_name on schedules (computer_id, name) where state <> 'deleted';
create index schedules_due on schedules (next_slot_ms) where next_slot_ms is not null;
create index schedules_project on schedules (project_id) where project_id is not null and state <> 'deleted';

create table runs (
  id text primary key,
  schedule_id text not null references schedules on delete cascade,
  account_id text not null,
  computer_id text not null,
  -- Whose rights it has.
  principal_id text not null,
  cause text not null check (cause in ('slot', 'missed', 'manual', 'event')),
  slot_ms bigint,
  state text not null check (state in ('queued', 'running', 'waiting_to_retry', 'succeeded', 'failed', 'skipped', 'cancelled')),
  reason text,
  attempt integer not null default 1,
  -- Decided when it gets its turn, before anything is started: a computer's agent runs an id once. Null: it waits for another run's end.
  process_id text,
  exit jsonb,
  timed_out boolean not null default false,
  woke text check (woke in ('asleep', 'stopped', 'archived')),
  -- Decided before it is made.
  fork_id text,
  fork_gone boolean not null default false,
  -- What is given to the command on standard input.
  input text,
  -- What its schedule was when it was made; null once it has ended.
  definition jsonb,
  -- Somebody wants it to end, and why.
  cancel_reason text,
  retry_at_ms bigint,
  output_bytes bigint not null default 0,
  -- The end of what it printed, where the computer it ran on is gone.
  kept_output text,
  created_at_ms bigint not null,
  started_at_ms bigint,
  ended_at_ms bigint
);
-- One slot, one run.
create unique index runs_slot on runs (schedule_id, slot_ms) where slot_ms is not null;
create index runs_schedule on runs (schedule_id, id desc);
create index runs_computer on runs (computer_id, id desc);
create index runs_process on runs (process_id) where process_id is not null;
create index runs_active on runs (schedule_id, id) where state in ('queued', 'running', 'waiting_to_retry');
create index runs_fork on runs (id) where fork_id is not null and not fork_gone;

create index keys_assistant on keys (assistant_id) where revoked_at_ms is null;
