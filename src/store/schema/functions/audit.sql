-- The audit: written once, forgotten when it is older than the retention.

-- The one way in.
create or replace function sluice.record_act(
  p_actor text, p_source text, p_action text, p_target text, p_before jsonb, p_after jsonb, p_reason text
) returns bigint
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  insert into sluice.audit (actor, source, action, target, before, after, reason)
  values (p_actor, p_source, p_action, p_target, p_before, p_after, p_reason)
  returning id
$$;

create or replace function sluice.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'DELETE' and current_setting('sluice.forgets_acts', true) = 'on' then
    return null;
  end if;
  raise exception 'sluice.audit is written once: nothing in it may be changed or removed'
    using errcode = 'insufficient_privilege';
end
$$;

create or replace trigger refuse_change before update or delete or truncate on sluice.audit
  for each statement execute function sluice.refuse_change();

-- The one way out: forgets acts that are older than the retention, some at a time; gives how many. Those of the last 30
-- days stay whatever is asked for: whoever may call this must not be able to remove what they have just done.
create or replace function sluice.forget_acts(keep_days integer, most integer) returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  forgotten integer;
begin
  perform set_config('sluice.forgets_acts', 'on', true);
  delete from sluice.audit
  where id in (
    select id
    from sluice.audit
    where at < clock_timestamp() - greatest(keep_days, 30) * interval '1 day'
    order by at
    limit most
    for update skip locked);
  get diagnostics forgotten = row_count;
  perform set_config('sluice.forgets_acts', 'off', true);
  return forgotten;
end
$$;

revoke all on function
  sluice.record_act(text, text, text, text, jsonb, jsonb, text),
  sluice.forget_acts(integer, integer)
  from public;
