-- Started blank cells, each with a volume, that nobody owns yet. Written down before the volume is made, so that none is left over a crash:
-- what is not `ready` when control starts is destroyed. A creation deletes the row in the transaction that inserts the computer of this id.
create table warm_cells (
  -- The id of the computer that it becomes.
  computer_id text primary key,
  node_id text not null,
  size text not null,
  -- making: not whole yet. ready: waits. going: is destroyed.
  state text not null check (state in ('making', 'ready', 'going')),
  -- What it was made of: another by now, and it is not handed out.
  image text,
  policy text,
  cell_id text,
  made_at_ms bigint not null,
  check (state <> 'ready' or (image is not null and policy is not null and cell_id is not null))
);
create index warm_cells_ready on warm_cells (node_id, size, made_at_ms) where state = 'ready';
