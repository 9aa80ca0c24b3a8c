-- What was going on, in small: samples of ten seconds, rolled up to minutes and hours, from which charts and alerts
-- read. And who changed what: one row for each act of a person.

-- Adds two lists of counts, place by place; what is not there is nothing.
create function sluice.add_counts(a bigint[], b bigint[]) returns bigint[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(coalesce(x, 0) + coalesce(y, 0) order by n), '{}')
  from unnest(a, b) with ordinality u(x, y, n)
$$;

create aggregate sluice.sum_counts(bigint[]) (sfunc = sluice.add_counts, stype = bigint[], initcond = '{}');

-- "at" is when the span begins. Counts of all processes add up. Gauges (depth, oldest) are taken by one process per
-- span; null: by none. "wait" and "run" count by duration: place n of the list is for up to 2^((n-1)/2) milliseconds.
create table sluice.queue_sample_10s (
  queue     text not null,
  at        timestamptz not null,
  enqueued  bigint not null default 0,
  started   bigint not null default 0,
  finished  bigint not null default 0,
  -- Attempts that failed, and jobs that ended without success.
  failed    bigint not null default 0,
  died      bigint not null default 0,
  wait      bigint[] not null default '{}',
  run       bigint[] not null default '{}',
  -- Jobs that are due and that nobody has claimed. A long queue is estimated.
  depth     bigint,
  oldest_ms bigint,
  primary key (queue, at)
) partition by range (at);

create table sluice.operation_sample_10s (
  operation_id uuid not null,
  at           timestamptz not null,
  name         text not null,
  rows_seen    bigint not null default 0,
  rows_changed bigint not null default 0,
  batches      bigint not null default 0,
  sub_batches  bigint not null default 0,
  quarantined  bigint not null default 0,
  wal_bytes    bigint not null default 0,
  -- Of sub-batches, by duration.
  run          bigint[] not null default '{}',
  -- Rows of a sub-batch, and how long its rows are to take.
  size         integer,
  target_ms    real,
  status       text,
  lanes        integer,
  -- Share of the time that its lanes may work: by a person, and by the governor, with what limits it.
  pace         real,
  share        real,
  limiter      text,
  hold_ms      bigint not null default 0,
  -- Share of its rows that are behind it, by the estimate at its start.
  progress     real,
  primary key (operation_id, at)
) partition by range (at);

create table sluice.signal_sample_10s (
  signal     text not null,
  -- The table that it is about; empty: the server.
  table_name text not null,
  at         timestamptz not null,
  value      double precision not null,
  soft       double precision not null,
  hard       double precision not null,
  primary key (signal, table_name, at)
) partition by range (at);

do $$
declare
  kind text;
  span text;
begin
  foreach kind in array array['queue', 'operation', 'signal'] loop
    foreach span in array array['1m', '1h'] loop
      execute format('create table sluice.%I (like sluice.%I including all) partition by range (at)',
        kind || '_sample_' || span, kind || '_sample_10s');
    end loop;
  end loop;
end
$$;

-- How far samples have been taken and rolled up; one row. Whoever moves it on does the work, the others find it done.
create table sluice.sample_clock (
  single    boolean primary key default true check (single),
  taken_to  timestamptz not null default clock_timestamp() - interval '1 minute',
  rolled_1m timestamptz not null default clock_timestamp(),
  rolled_1h timestamptz not null default clock_timestamp()
);
insert into sluice.sample_clock default values;

-- The number of the last samples that a worker has written: an answer that was lost does not count them twice. Not in
-- the row of the worker: its sign of life must not wait until samples are written.
create table sluice.sample_mark (
  worker_id uuid primary key,
  number    bigint not null,
  at        timestamptz not null default clock_timestamp()
);

-- Jobs that are due and that nobody has claimed, by queue. At most p_most of each queue and priority are looked at; a
-- queue with more is estimated from some pages of the table, always the same ones, so that its course is smooth.
create function sluice.queue_depths(p_most integer default 2000, p_pages integer default 400)
returns table (queue text, depth bigint, estimated boolean, oldest_ms bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  claimed int8multirange;
  pages real := pg_relation_size('sluice.job') / current_setting('block_size')::real;
  percent real := least(100, 100 * p_pages / greatest(pages, 1));
begin
  select coalesce(range_agg(r), '{}') into claimed from sluice.job_claim k, unnest(k.job_ids) r;
  return query
  with looked as materialized (
    select q.id, j.id as job_id, j.run_at, j.claim_id is null and not (j.state = 0 and claimed @> j.id) as free,
      j.nth = p_most as cut
    from sluice.queue q
    cross join lateral (
      select n.*, row_number() over (partition by n.state, n.priority) as nth
      from unnest(array[0, 1, 2]::smallint[]) p(priority)
      cross join lateral (
        (select i.id, i.run_at, i.claim_id, i.state, i.priority from sluice.job i
         where i.state = 0 and i.queue_id = q.id and i.priority = p.priority order by i.id limit p_most)
        union all
        (select i.id, i.run_at, i.claim_id, i.state, i.priority from sluice.job i
         where i.state = 4 and i.queue_id = q.id and i.priority = p.priority order by i.id limit p_most)) n
      union all
      select d.id, d.run_at, d.claim_id, d.state, d.priority, row_number() over () as nth
      from (select * from sluice.job i
            where i.state = 2 and i.queue_id = q.id and i.run_at <= statement_timestamp()
            order by i.run_at limit p_most) d) j
  ), parked as (
    -- Behind others with the same key; their index does not know queues.
    select k.queue_id, count(*) as jobs, min(k.run_at) as oldest, sum(count(*)) over () = p_most as cut
    from (select i.queue_id, i.run_at from sluice.job i where i.state = 1 limit p_most) k
    group by k.queue_id
  ), estimate as (
    select i.queue_id, count(*) * 100 / percent as jobs, min(i.run_at) as oldest
    from sluice.job i tablesample system (percent) repeatable (7)
    where i.claim_id is null and (i.state in (0, 1, 4) or i.state = 2 and i.run_at <= statement_timestamp())
      and not (i.state = 0 and claimed @> i.id)
    group by i.queue_id
  ), counted as (
    select q.id, q.name, coalesce(l.jobs, 0) + coalesce(k.jobs, 0) as jobs,
      coalesce(l.cut, false) or coalesce((select bool_or(c.cut) from parked c), false) as cut,
      least(l.oldest, k.oldest, e.oldest) as oldest, coalesce(e.jobs, 0) as likely
    from sluice.queue q
    left join (select id, count(*) filter (where free) as jobs, min(run_at) filter (where free) as oldest,
        bool_or(cut) as cut from looked group by id) l on l.id = q.id
    left join parked k on k.queue_id = q.id
    left join estimate e on e.queue_id = q.id
  )
  select c.name, case when c.cut then greatest(c.jobs, round(c.likely)::bigint) else c.jobs end, c.cut and percent < 100,
    case when c.oldest is not null
      then greatest(0, round(1000 * extract(epoch from statement_timestamp() - c.oldest))) end::bigint
  from counted c;
end
$$;

-- Takes what is counted once for all: how long queues are, and how operations stand.
create function sluice.take_gauges(p_at timestamptz, p_since interval) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into sluice.queue_sample_10s as s (queue, at, depth, oldest_ms)
  select d.queue, p_at, d.depth, d.oldest_ms from sluice.queue_depths() d order by d.queue
  on conflict (queue, at) do update set depth = excluded.depth, oldest_ms = excluded.oldest_ms;

  insert into sluice.operation_sample_10s as s
    (operation_id, at, name, status, size, lanes, pace, share, limiter, hold_ms, progress)
  select o.id, p_at, o.name, o.status, coalesce(o.tuned_size, o.sub_batch_size), o.lanes, o.pace,
    case when l.there then (o.limiter ->> 'share')::real else 1 end, case when l.there then o.limiter ->> 'probe' end,
    case when o.status = 'held'
      then 1000 * extract(epoch from least(p_since, greatest(clock_timestamp() - o.status_since, interval '0'))) else 0 end,
    case when o.rows_estimate > 0 and o.carve <> 'sparse' then
      least(1, (o.rows_seen + coalesce((select sum(b.rows_seen) from sluice.batch b where b.operation_id = o.id), 0))
        / o.rows_estimate::real) end
  from sluice.operation o
  cross join lateral (select o.limiter is not null and o.limited_at > clock_timestamp() - interval '15 seconds' as there) l
  where o.status in ('active', 'verifying', 'held', 'pausing', 'cancelling')
  order by o.id
  on conflict (operation_id, at) do update
  set status = excluded.status, size = excluded.size, lanes = excluded.lanes, pace = excluded.pace,
    share = excluded.share, limiter = excluded.limiter, hold_ms = excluded.hold_ms, progress = excluded.progress
$$;

-- Sums up samples in wider ones: minutes, hours. Doing it again gives the same.
create function sluice.roll_up(p_from text, p_to text, p_width text, p_since timestamptz, p_until timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('insert into sluice.queue_sample_%2$s
      (queue, at, enqueued, started, finished, failed, died, wait, run, depth, oldest_ms)
    select queue, date_trunc(%3$L, at, ''UTC''), sum(enqueued), sum(started), sum(finished), sum(failed), sum(died),
      sluice.sum_counts(wait), sluice.sum_counts(run), round(avg(depth)), max(oldest_ms)
    from sluice.queue_sample_%1$s where at >= $1 and at < $2 group by 1, 2
    on conflict (queue, at) do update set enqueued = excluded.enqueued, started = excluded.started,
      finished = excluded.finished, failed = excluded.failed, died = excluded.died, wait = excluded.wait,
      run = excluded.run, depth = excluded.depth, oldest_ms = excluded.oldest_ms', p_from, p_to, p_width)
    using p_since, p_until;
  execute format('insert into sluice.operation_sample_%2$s
      (operation_id, at, name, rows_seen, rows_changed, batches, sub_batches, quarantined, wal_bytes, run, size,
       target_ms, status, lanes, pace, share, limiter, hold_ms, progress)
    select operation_id, date_trunc(%3$L, at, ''UTC''), max(name), sum(rows_seen), sum(rows_changed), sum(batches),
      sum(sub_batches), sum(quarantined), sum(wal_bytes), sluice.sum_counts(run), round(avg(size)), avg(target_ms),
      (array_agg(status order by at desc) filter (where status is not null))[1], round(avg(lanes)), avg(pace),
      avg(share), mode() within group (order by limiter), sum(hold_ms), max(progress)
    from sluice.operation_sample_%1$s where at >= $1 and at < $2 group by 1, 2
    on conflict (operation_id, at) do update set rows_seen = excluded.rows_seen, rows_changed = excluded.rows_changed,
      batches = excluded.batches, sub_batches = excluded.sub_batches, quarantined = excluded.quarantined,
      wal_bytes = excluded.wal_bytes, run = excluded.run, size = excluded.size, target_ms = excluded.target_ms,
      status = excluded.status, lanes = excluded.lanes, pace = excluded.pace, share = excluded.share,
      limiter = excluded.limiter, hold_ms = excluded.hold_ms, progress = excluded.progress', p_from, p_to, p_width)
    using p_since, p_until;
  execute format('insert into sluice.signal_sample_%2$s (signal, table_name, at, value, soft, hard)
    select signal, table_name, date_trunc(%3$L, at, ''UTC''), case when max(soft) <= max(hard) then max(value) else min(value) end,
      max(soft), max(hard)
    from sluice.signal_sample_%1$s where at >= $1 and at < $2 group by 1, 2, 3
    on conflict (signal, table_name, at) do update set value = excluded.value, soft = excluded.soft,
      hard = excluded.hard', p_from, p_to, p_width)
    using p_since, p_until;
end
$$;

-- Writes what a process has counted since the last time, and what is counted once for all if nobody has yet. By the
-- database's clock: who comes late counts for the present span, so that what is over does not change any more.
-- p_worker is null for one that only enqueues.
create function sluice.write_samples(
  p_worker uuid, p_number bigint, p_counts jsonb, out taken boolean, out next_ms integer
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  now constant timestamptz := clock_timestamp();
  tick constant timestamptz := date_bin('10 seconds', now - interval '5 seconds', 'epoch');
  -- A minute or hour is over when nobody can be writing to it any more.
  over constant timestamptz := now - interval '30 seconds';
  clock sluice.sample_clock;
  fresh boolean := true;
begin
  if p_worker is not null then
    insert into sluice.sample_mark as m (worker_id, number)
    values (p_worker, p_number)
    on conflict (worker_id) do update set number = excluded.number, at = clock_timestamp()
    where m.number < excluded.number;
    fresh := found;
  end if;
  if fresh then
    -- All in one order, so that two who write the same rows cannot wait for each other.
    insert into sluice.queue_sample_10s as s (queue, at, enqueued, started, finished, failed, died, wait, run)
    select c.queue, tick, c.enqueued, c.started, c.finished, c.failed, c.died, c.wait, c.run
    from jsonb_to_recordset(p_counts -> 'queues') c(queue text, enqueued bigint, started bigint, finished bigint,
      failed bigint, died bigint, wait bigint[], run bigint[])
    order by c.queue
    on conflict (queue, at) do update
    set enqueued = s.enqueued + excluded.enqueued, started = s.started + excluded.started,
      finished = s.finished + excluded.finished, failed = s.failed + excluded.failed, died = s.died + excluded.died,
      wait = sluice.add_counts(s.wait, excluded.wait), run = sluice.add_counts(s.run, excluded.run);

    insert into sluice.operation_sample_10s as s (operation_id, at, name, rows_seen, rows_changed, batches, sub_batches,
      quarantined, wal_bytes, run, size, target_ms)
    select c.operation_id, tick, c.name, c.rows_seen, c.rows_changed, c.batches, c.sub_batches, c.quarantined,
      c.wal_bytes, c.run, c.size, c.target_ms
    from jsonb_to_recordset(p_counts -> 'operations') c(operation_id uuid, name text, rows_seen bigint,
      rows_changed bigint, batches bigint, sub_batches bigint, quarantined bigint, wal_bytes bigint, run bigint[],
      size integer, target_ms real)
    order by c.operation_id
    on conflict (operation_id, at) do update
    set rows_seen = s.rows_seen + excluded.rows_seen, rows_changed = s.rows_changed + excluded.rows_changed,
      batches = s.batches + excluded.batches, sub_batches = s.sub_batches + excluded.sub_batches,
      quarantined = s.quarantined + excluded.quarantined, wal_bytes = s.wal_bytes + excluded.wal_bytes,
      run = sluice.add_counts(s.run, excluded.run), size = coalesce(excluded.size, s.size),
      target_ms = coalesce(excluded.target_ms, s.target_ms);

    -- Every process reads the same server: the first one counts.
    insert into sluice.signal_sample_10s (signal, table_name, at, value, soft, hard)
    select c.signal, c.table_name, tick, c.value, c.soft, c.hard
    from jsonb_to_recordset(p_counts -> 'signals') c(signal text, table_name text, value double precision,
      soft double precision, hard double precision)
    order by c.signal, c.table_name
    on conflict do nothing;
  end if;

  taken := false;
  next_ms := ceil(1000 * extract(epoch from date_bin('10 seconds', now, 'epoch') + interval '10 seconds' - now));
  if p_worker is null then
    return;
  end if;
  select * into clock from sluice.sample_clock where taken_to < tick for update skip locked;
  if not found then
    return;
  end if;
  taken := true;
  perform sluice.take_gauges(tick, least(tick - clock.taken_to, interval '1 minute'));
  if clock.rolled_1m < date_trunc('minute', over, 'UTC') then
    -- What is older has nowhere to go to, when nobody was there for long.
    perform sluice.roll_up('10s', '1m', 'minute', greatest(clock.rolled_1m, now - interval '2 days'),
      date_trunc('minute', over, 'UTC'));
    clock.rolled_1m := date_trunc('minute', over, 'UTC');
  end if;
  if clock.rolled_1h < date_trunc('hour', over, 'UTC') then
    perform sluice.roll_up('1m', '1h', 'hour', greatest(clock.rolled_1h, now - interval '13 days'),
      date_trunc('hour', over, 'UTC'));
    clock.rolled_1h := date_trunc('hour', over, 'UTC');
  end if;
  delete from sluice.sample_mark where at < now - interval '1 hour';
  update sluice.sample_clock
  set taken_to = tick, rolled_1m = clock.rolled_1m, rolled_1h = clock.rolled_1h;
end
$$;

create function sluice.create_sample_partitions() returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['queue_sample_10s', 'operation_sample_10s', 'signal_sample_10s'], 1, 1)
    + sluice.create_partitions(array['queue_sample_1m', 'operation_sample_1m', 'signal_sample_1m',
        'queue_sample_1h', 'operation_sample_1h', 'signal_sample_1h'], 7, 1)
$$;

-- Ten seconds are kept for two days, minutes for two weeks, hours as long as asked for.
create function sluice.drop_sample_partitions(keep_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition(p.name, o.child)), 0)::integer
  from (values ('10s', 1, 2), ('1m', 7, 14), ('1h', 7, keep_days)) s(span, days, keep)
  cross join lateral unnest(array['queue_sample_' || span, 'operation_sample_' || span, 'signal_sample_' || span]) p(name)
  cross join lateral sluice.old_partitions(p.name, s.days, s.keep) o
$$;

revoke all on function sluice.write_samples(uuid, bigint, jsonb), sluice.create_sample_partitions(),
  sluice.drop_sample_partitions(integer) from public;

select sluice.create_sample_partitions();

-- Alerts: each rule and what it is about, since it was first broken. "changed_at" is when it began or ended; whoever
-- has said so elsewhere moves "told_at" there.
create table sluice.alert (
  rule       text not null,
  subject    text not null,
  firing     boolean not null,
  severity   text not null check (severity in ('warning', 'critical')),
  message    text not null,
  value      double precision,
  threshold  double precision,
  -- Looks in a row that spoke for a change.
  streak     integer not null default 0,
  looked_at  timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  told_at    timestamptz,
  telling_at timestamptz,
  primary key (rule, subject)
);

-- One row, which is only ever locked, by whoever judges. An advisory lock would do the same, but any login of the server
-- can take one, and then nobody would judge; this row needs the rights of a worker.
create table sluice.alert_turn (
  id boolean primary key default true check (id)
);
insert into sluice.alert_turn default values;

-- Who did what, from where and why: one row in the transaction of each act of a person. Written once, and kept until it
-- is older than the retention.
create table sluice.audit (
  id     bigint generated always as identity primary key,
  at     timestamptz not null default clock_timestamp(),
  actor  text,
  source text not null check (source in ('api', 'cli', 'dashboard', 'schedule')),
  action text not null,
  target text not null,
  before jsonb,
  after  jsonb,
  reason text
);
create index audit_target_idx on sluice.audit (target, id);
create index audit_at_idx on sluice.audit (at);

create function sluice.refuse_change() returns trigger
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

create trigger refuse_change before update or delete or truncate on sluice.audit
  for each statement execute function sluice.refuse_change();

-- The one way out: forgets acts that are older than the retention, some at a time; gives how many. Those of the last 30
-- days stay whatever is asked for: whoever may call this must not be able to remove what they have just done.
create function sluice.forget_acts(keep_days integer, most integer) returns integer
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

-- The one way in.
create function sluice.record_act(
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

revoke all on function sluice.record_act(text, text, text, text, jsonb, jsonb, text),
  sluice.forget_acts(integer, integer) from public;
