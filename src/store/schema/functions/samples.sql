-- Samples: written by every process, rolled up by one.

-- Adds two lists of counts, place by place; what is not there is nothing.
create or replace function sluice.add_counts(a bigint[], b bigint[]) returns bigint[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(coalesce(x, 0) + coalesce(y, 0) order by n), '{}')
  from unnest(a, b) with ordinality u(x, y, n)
$$;

create or replace aggregate sluice.sum_counts(bigint[]) (sfunc = sluice.add_counts, stype = bigint[], initcond = '{}');

-- Writes what a process has counted since the last time, and what is counted once for all if nobody has yet. By the
-- database's clock: who comes late counts for the present span, so that what is over does not change any more.
-- p_worker is null for one that only enqueues.
create or replace function sluice.write_samples(
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

-- Takes what is counted once for all: how long queues are, and how operations stand.
create or replace function sluice.take_gauges(p_at timestamptz, p_since interval) returns void
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
    case when o.rows_estimate > 0 and o.walk = 'key' then
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
create or replace function sluice.roll_up(p_from text, p_to text, p_width text, p_since timestamptz, p_until timestamptz) returns void
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

revoke all on function
  sluice.write_samples(uuid, bigint, jsonb)
  from public;
