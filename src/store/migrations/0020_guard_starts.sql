-- Operations come in by one function alone: whoever may start one must not be able to say that it was approved, to put
-- anything but names into the place of names, or to write down the acts of others.

alter table sluice.operation
  -- A person has let it run. Workers do not run an operation without it whose definition asks for an approval.
  add column approved boolean not null default false;

-- Records an operation and who started it, or finds the unfinished one with the same fingerprint. Gives no row when that
-- one was recorded by a transaction that the caller's snapshot does not see.
create function sluice.start_operation(p_operation jsonb, p_who jsonb) returns table (id uuid, created boolean)
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
    sub_batch_size integer, quarantine_limit integer, rows_estimate bigint, carve text, run_window text,
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
     quarantine_limit, rows_estimate, carve, run_window, carve_size, tunes_batches, tuned_size, reason)
  values (o.id, o.name, o.args, o.tenant, o.actor, new_status, o.fingerprint, o.table_name, o.cursor_columns,
    o.cursor_types, o.lower_key, o.lower_key, o.carve_end, o.carve_end is null and o.until = 'end', o.until, o.verify,
    o.priority, o.conflicts, o.lanes, o.most_lanes, o.batch_size, o.sub_batch_size, o.quarantine_limit,
    o.rows_estimate, o.carve, o.run_window, o.carve_size, o.carve_size is not null, o.tuned_size, o.reason)
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

revoke all on function sluice.start_operation(jsonb, jsonb) from public;
