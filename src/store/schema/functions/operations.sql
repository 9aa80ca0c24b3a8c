-- Operations: the way in, the way out, and the record of their status.

-- Records an operation and who started it, or finds the unfinished one with the same fingerprint. Gives no row when that
-- one was recorded by a transaction that the caller's snapshot does not see.
create or replace function sluice.start_operation(p_operation jsonb, p_who jsonb) returns table (id uuid, created boolean)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
-- Names are compared as we write them, whatever the caller's session does.
set quote_all_identifiers = off
as $$
#variable_conflict use_column
declare
  o record;
  named text[];
  fits boolean;
  new_status text;
begin
  -- What is not listed here is not for the caller to say.
  select * into o
  from jsonb_to_record(p_operation) g(id uuid, name text, args jsonb, tenant text, actor text, approval boolean,
    fingerprint text, table_name text, cursor_columns text[], cursor_types text[], lower_key text[], carve_end text[],
    until text, verify boolean, priority text, conflicts text, lanes integer, most_lanes integer, batch_size integer,
    sub_batch_size integer, quarantine_limit integer, rows_estimate bigint, walk text, walk_index text, run_window text,
    carve_size integer, tuned_size integer, reason text);

  -- Names and types become part of statements, so they must be those of a table that there is; types are written as in
  -- src/targets/table.ts.
  named := parse_ident(o.table_name);
  select array_agg(case when tn.nspname = 'pg_catalog' then format_type(t.oid, -1)
      else quote_ident(tn.nspname) || '.' || quote_ident(t.typname) end order by k.at) = o.cursor_types
  into fits
  from unnest(o.cursor_columns) with ordinality k(name, at)
  join pg_namespace n on n.nspname = named[1]
  join pg_class c on c.relnamespace = n.oid and c.relname = named[2] and c.relkind in ('r', 'p')
  join pg_attribute a on a.attrelid = c.oid and a.attname = k.name and a.attnum > 0 and not a.attisdropped
  join pg_type d on d.oid = a.atttypid
  join pg_type t on t.oid = coalesce(nullif(d.typbasetype, 0), d.oid)
  join pg_namespace tn on tn.oid = t.typnamespace
  where o.table_name = quote_ident(n.nspname) || '.' || quote_ident(c.relname);
  if fits is not true then
    raise exception 'sluice.start_operation: there is no table % with a cursor (%) of the types (%)',
      o.table_name, array_to_string(o.cursor_columns, ', '), array_to_string(o.cursor_types, ', ')
      using errcode = '22023';
  end if;

  new_status := case when o.approval then 'awaiting_approval' else 'queued' end;
  insert into sluice.operation
    (id, name, args, tenant, actor, status, fingerprint, table_name, cursor_columns, cursor_types, lower_key, carved_to,
     carve_end, fully_carved, until, verify, priority, conflicts, lanes, most_lanes, batch_size, sub_batch_size,
     quarantine_limit, rows_estimate, walk, walk_index, run_window, carve_size, tunes_batches, tuned_size, reason)
  values (o.id, o.name, o.args, o.tenant, o.actor, new_status, o.fingerprint, o.table_name, o.cursor_columns,
    o.cursor_types, o.lower_key, o.lower_key, o.carve_end, o.carve_end is null and o.until = 'end', o.until, o.verify,
    o.priority, o.conflicts, o.lanes, o.most_lanes, o.batch_size, o.sub_batch_size, o.quarantine_limit,
    o.rows_estimate, o.walk, o.walk_index, o.run_window, o.carve_size, o.carve_size is not null, o.tuned_size, o.reason)
  on conflict (fingerprint) do nothing;
  if not found then
    return query select l.id, l.id = o.id from sluice.operation l where l.fingerprint = o.fingerprint;
    return;
  end if;
  -- Actor and source are what the caller says. The login is what the server knows, whatever role it has set.
  perform sluice.record_act(o.actor, coalesce(p_who ->> 'source', 'api'), 'operation.start', o.id::text, null,
    jsonb_build_object('name', o.name, 'table', o.table_name, 'tenant', o.tenant, 'status', new_status,
      'login', session_user),
    p_who ->> 'reason');
  return query select o.id, true;
end
$$;

-- Written by the statement that changes the status, whichever that is.
create or replace function sluice.record_transition() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'INSERT' then
    new.status_since := clock_timestamp();
    -- One that comes back from history goes on from where it ended.
    insert into sluice.transition (operation_id, from_status, to_status, reason, actor)
    values (new.id,
      (select t.to_status from sluice.transition t where t.operation_id = new.id order by t.at desc limit 1),
      new.status, new.reason, coalesce(new.status_actor, new.actor));
  elsif new.status is distinct from old.status then
    new.status_since := clock_timestamp();
    insert into sluice.transition (operation_id, from_status, to_status, reason, actor)
    values (new.id, old.status, new.status, new.reason, new.status_actor);
  end if;
  return new;
end
$$;

create or replace trigger record_transition before insert or update of status on sluice.operation
  for each row execute function sluice.record_transition();

-- The one way to the end: the operation and what is left of its batches move to history, and its table, its
-- fingerprint and its lanes are free again, all in the caller's statement.
create or replace function sluice.end_operation(
  p_id uuid, p_status text, p_reason text default null, p_error jsonb default null, p_actor text default null,
  p_failed_batch uuid default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  o sluice.operation;
  s record;
begin
  delete from sluice.operation where id = p_id returning * into o;
  if not found then
    return false;
  end if;
  with batches as (
    delete from sluice.batch where operation_id = p_id returning *
  ), moved as (
    insert into sluice.batch_history
      (id, operation_id, seq, lower_key, upper_key, checkpoint, pass, outcome, nonce, worker_id, errors, crashes,
       last_error, rows_seen, rows_matched, rows_changed, rows_quarantined, sub_batches, busy_ms, created_at, finished_at)
    select id, operation_id, seq, lower_key, upper_key, checkpoint, pass,
      case when id = p_failed_batch then 'failed' else 'abandoned' end, nonce, worker_id, errors, crashes,
      case when id = p_failed_batch then p_error else last_error end,
      rows_seen, rows_matched, rows_changed, rows_quarantined, sub_batches, busy_ms, created_at, clock_timestamp()
    from batches
  )
  select coalesce(sum(rows_seen), 0) as seen, coalesce(sum(rows_matched), 0) as matched,
    coalesce(sum(rows_changed), 0) as changed, coalesce(sum(rows_quarantined), 0) as quarantined,
    coalesce(sum(sub_batches), 0) as sub_batches, coalesce(sum(busy_ms), 0) as busy_ms
  into s
  from batches;
  insert into sluice.operation_history
    (id, name, args, tenant, actor, status, error, table_name, rows_estimate, rows_seen, rows_matched, rows_changed,
     rows_quarantined, sub_batches, busy_ms, batches_finished, created_at, started_at, finished_at, record)
  values (o.id, o.name, o.args, o.tenant, o.actor, p_status, p_error, o.table_name, o.rows_estimate,
    o.rows_seen + s.seen, o.rows_matched + s.matched, o.rows_changed + s.changed, o.rows_quarantined + s.quarantined,
    o.sub_batches + s.sub_batches, o.busy_ms + s.busy_ms, o.batches_finished, o.created_at, o.started_at,
    clock_timestamp(),
    to_jsonb(o) || jsonb_build_object('rows_seen', o.rows_seen + s.seen, 'rows_matched', o.rows_matched + s.matched,
      'rows_changed', o.rows_changed + s.changed, 'rows_quarantined', o.rows_quarantined + s.quarantined,
      'sub_batches', o.sub_batches + s.sub_batches, 'busy_ms', o.busy_ms + s.busy_ms));
  insert into sluice.operation_summary
    (id, name, tenant, status, rows_changed, rows_quarantined, created_at, finished_at)
  values (o.id, o.name, o.tenant, p_status, o.rows_changed + s.changed, o.rows_quarantined + s.quarantined,
    o.created_at, clock_timestamp())
  on conflict (id) do update
  set status = excluded.status, rows_changed = excluded.rows_changed, rows_quarantined = excluded.rows_quarantined,
    finished_at = excluded.finished_at;
  insert into sluice.transition (operation_id, from_status, to_status, reason, actor)
  values (o.id, o.status, p_status, p_reason, p_actor);
  return true;
end
$$;

-- Forgets summaries that are older than the retention, some at a time; gives how many.
create or replace function sluice.forget_summaries(keep_days integer, most integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  with gone as (
    delete from sluice.operation_summary
    where id in (
      select id
      from sluice.operation_summary
      where finished_at < clock_timestamp() - greatest(keep_days, 1) * interval '1 day'
      order by finished_at
      limit most
      for update skip locked)
    returning id
  )
  select count(*)::integer from gone
$$;

-- Where the log of the server is. Null where the server refuses to tell, as some hosted ones do, or where the role may
-- not ask: how much log is written is good to know, and nothing may depend on it.
create or replace function sluice.wal_position() returns pg_lsn
language plpgsql
as $$
begin
  return pg_catalog.pg_current_wal_insert_lsn();
exception when object_not_in_prerequisite_state or feature_not_supported or insufficient_privilege or undefined_function then
  return null;
end
$$;

revoke all on function
  sluice.start_operation(jsonb, jsonb),
  sluice.forget_summaries(integer, integer)
  from public;
