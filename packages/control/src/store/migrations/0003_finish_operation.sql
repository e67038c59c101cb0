-- Records the outcome of an operation, once. It fails when there is one already, so that it can travel with the statements that depend on it
-- and the commit in one flight: a settled operation is never settled twice, whatever got lost.
create function finish_operation(
  finished_id text, new_outcome text, new_error text, new_target text, has_target boolean, took_ms integer
) returns void language plpgsql as $$
begin
  update operations
  set outcome = new_outcome, error = new_error, duration_ms = took_ms,
    target = case when has_target then new_target else target end
  where id = finished_id and outcome = 'running';
  if not found then
    raise exception 'the outcome of % is recorded already', finished_id using errcode = 'HF001';
  end if;
end
$$;
