-- The whole life of an operation: verbs of people, fairness between tenants, quarantine, and a record of it all.

-- Who waits, who works, and what may be changed while it runs.
alter table sluice.operation drop constraint operation_status_check;
alter table sluice.operation rename column hold_reason to reason;
alter table sluice.operation
  add constraint operation_status_check check (status in
    ('awaiting_approval', 'queued', 'active', 'held', 'pausing', 'paused', 'verifying', 'cancelling')),
  add column status_actor text,
  add column status_since timestamptz not null default clock_timestamp(),
  add column priority text not null default 'normal' check (priority in ('low', 'normal', 'high')),
  add column conflicts text not null default 'table' check (conflicts in ('table', 'none')),
  add column until text not null default 'end' check (until in ('end', 'empty')),
  -- Where the walk began: after this key, or at the first row.
  add column lower_key text[],
  add column pace real not null default 1 check (pace > 0 and pace <= 1),
  -- Passes over the table: the second one looks for rows in scope that the first did not meet.
  add column verify boolean not null default false,
  add column pass integer not null default 1,
  add column rows_matched bigint not null default 0,
  add column rows_quarantined bigint not null default 0,
  add column quarantine_limit integer not null default 1000;

-- One operation per table, unless it says that it may share: held and stopping ones still own their table.
create unique index operation_table_key on sluice.operation (table_name)
  where conflicts = 'table' and status in ('active', 'held', 'verifying', 'pausing', 'cancelling');
create index operation_tenant_idx on sluice.operation (tenant);

alter table sluice.batch
  add column pass integer not null default 1,
  add column rows_matched bigint not null default 0,
  add column rows_quarantined bigint not null default 0,
  -- Crashes count against a batch only while it gets no further.
  add column crash_checkpoint text[],
  -- The claim that was taken for dead last; its holder may show that it was not.
  add column crash_nonce uuid;

alter table sluice.operation_history
  add column rows_matched bigint not null default 0,
  add column rows_quarantined bigint not null default 0,
  -- The row as it was, so that what is left can be taken up again.
  add column record jsonb;

alter table sluice.batch_history drop constraint batch_history_outcome_check;
alter table sluice.batch_history
  add constraint batch_history_outcome_check check (outcome in ('finished', 'failed', 'abandoned', 'retried')),
  add column checkpoint text[],
  add column pass integer not null default 1,
  add column rows_matched bigint not null default 0,
  add column rows_quarantined bigint not null default 0;

-- What is left of an operation when its history has been dropped.
create table sluice.operation_summary (
  id               uuid primary key,
  name             text not null,
  tenant           text,
  status           text not null,
  rows_changed     bigint not null,
  rows_quarantined bigint not null,
  created_at       timestamptz not null,
  finished_at      timestamptz not null
);
create index operation_summary_finished_idx on sluice.operation_summary (finished_at);

-- Key ranges (mostly of one row) that could not be processed, each with its error.
create table sluice.quarantine (
  id             uuid not null,
  operation_id   uuid not null,
  seq            integer not null,
  lower_key      text[],
  upper_key      text[] not null,
  rows           integer not null,
  error          jsonb not null,
  fingerprint    text not null,
  retried_at     timestamptz,
  quarantined_at timestamptz not null default clock_timestamp(),
  primary key (operation_id, id, quarantined_at)
) partition by range (quarantined_at);

-- Every change of status, with who and why.
create table sluice.transition (
  operation_id uuid not null,
  from_status  text,
  to_status    text not null,
  reason       text,
  actor        text,
  at           timestamptz not null default clock_timestamp()
) partition by range (at);
create index transition_operation_id_idx on sluice.transition (operation_id);

-- Definitions that may not run, whatever is started.
create table sluice.disabled_operation (
  name        text primary key,
  reason      text,
  actor       text,
  disabled_at timestamptz not null default clock_timestamp()
);

-- How much each tenant has had: measured busy time over weight. The empty name stands for system operations.
create table sluice.tenant_share (
  tenant     text primary key,
  virtual_ms double precision not null
);

-- How far finished runs of recurring operations have come.
create table sluice.recurring_mark (
  fingerprint text primary key,
  key         text[] not null,
  marked_at   timestamptz not null default clock_timestamp()
);

-- Written by the statement that changes the status, whichever that is.
create function sluice.record_transition() returns trigger
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

create trigger record_transition before insert or update of status on sluice.operation
  for each row execute function sluice.record_transition();

-- The one way to the end: the operation and what is left of its batches move to history, and its table, its
-- fingerprint and its lanes are free again, all in the caller's statement.
create function sluice.end_operation(
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

-- The tables in partitions are more now, and old partitions go.
create or replace function sluice.create_history_partitions(weeks_ahead integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['operation_history', 'batch_history', 'quarantine', 'transition'], 7,
    least(greatest(weeks_ahead, 1), 52))
$$;

create function sluice.drop_history_partitions(keep_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition(p.name, o.child)), 0)::integer
  from unnest(array['operation_history', 'batch_history', 'quarantine', 'transition']) p(name)
  cross join lateral sluice.old_partitions(p.name, 7, keep_days) o
$$;

-- Forgets summaries that are older than the retention, some at a time; gives how many.
create function sluice.forget_summaries(keep_days integer, most integer) returns integer
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

revoke all on function sluice.drop_history_partitions(integer), sluice.forget_summaries(integer, integer) from public;

select sluice.create_history_partitions(4);
