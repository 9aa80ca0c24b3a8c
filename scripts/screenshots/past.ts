/** The tables of a shop. */
export const tables = `
  create table events (id bigint primary key, created_at timestamptz not null, kind text);
  insert into events select i, timestamptz '2026-01-01' + i * interval '8 seconds', case when i % 14 = 0 then 'order' else 'view' end
    from generate_series(1, 2600000) i;
  create table customers (id bigint primary key, name text, email text, seen_at timestamptz not null);
  insert into customers select i, 'customer ' || i, i || '@example.com', timestamptz '2024-01-01' + i * interval '10 minutes'
    from generate_series(1, 60000) i;
  create table invoices (id bigint primary key, net numeric not null, total numeric, archived boolean not null default false);
  insert into invoices select i, i % 400 from generate_series(1, 40000) i;
  create table carts (id bigint primary key, content text, amount numeric);
  insert into carts select i, case when i % 700 = 0 then 'n/a' when i % 1100 = 0 then '12,50' else '12' end
    from generate_series(1, 6000) i;
  create table orders (id bigint primary key, state text not null, state_changed_at timestamptz not null default now());
  insert into orders select i, (array['placed', 'placed', 'paid', 'packing', 'packing', 'sent', 'delivered', 'delivered',
      'delivered', 'delivered', 'cancelled', 'returned', 'refunded', 'out_of_stock'])[1 + (i * i + i / 7) % 14]
    from generate_series(1, 9000) i;
  analyze;`

/** What charts show of the time before: the rows that were walked in a hurry, spread over ten minutes. */
export const operationPast = `
  update sluice.operation set started_at = now() - interval '620 s', created_at = now() - interval '640 s' where id = $1;
  update sluice.transition set at = now() - interval '620 s' where operation_id = $1;
  insert into sluice.transition (operation_id, from_status, to_status, reason, actor, at)
  select $1, before, after, why, 'ada@shop.example', now() - seconds * interval '1 second'
  from (values ('active', 'paused', 'a look at the replicas', 490), ('paused', 'active', null, 450)) as moves (before, after, why, seconds);
  delete from sluice.operation_sample_10s where operation_id = $1;
  insert into sluice.operation_sample_10s (operation_id, at, name, rows_seen, rows_changed, sub_batches, run, size, target_ms,
      status, lanes, pace, share, limiter, progress)
  select $1, date_bin('10 s', now() - i * interval '10 s', timestamptz '2026-01-01'), 'expire-events', rows, rows * 0.93,
    rows / 200, case when paused then '{}' else
      array_fill(0, array[13]) || array[2, 9, rows / 400, rows / 300, 8, case when slow then 14 else 2 end] end,
    200, 200, 'active', 2, 1, case when slow then 0.45 else 1 end, case when slow then 'commitTime' end,
    $2::float8 * (62 - i) / 62
  from generate_series(1, 62) i,
    lateral (select i between 22 and 34 as slow, i between 46 and 49 as paused) s,
    lateral (select case when paused then 0 else (case when slow then 900 else 2150 end + 160 * sin(i * 1.7) + 90 * cos(i * 0.6))::int * 10 end as rows) r;`

/** The health of the database, and the queues, over the last half hour. */
export const surroundingsPast = `
  delete from sluice.signal_sample_10s;
  delete from sluice.queue_sample_10s;
  insert into sluice.signal_sample_10s (signal, table_name, at, value, soft, hard)
  select signal, '', date_bin('10 s', now() - i * interval '10 s', timestamptz '2026-01-01'),
    greatest(0, base + swing * sin(i * 0.9) + case when i between 22 and 34 then peak else 0 end), soft, hard
  from generate_series(1, 180) i, (values ('commitTime', 2.1, 1.2, 14, 8, 40), ('activeSessions', 0.7, 0.3, 0.6, 1.5, 4),
    ('lockWaits', 0, 0.02, 0.2, 0.5, 3), ('replicaLag', 240, 160, 900, 2000, 10000), ('checkpoints', 1, 0.4, 1, 4, 16),
    ('oldestSnapshot', 34000, 9000, 60000, 600000, 3600000)
    ) as signals (signal, base, swing, peak, soft, hard) on conflict do nothing;
  insert into sluice.queue_sample_10s (queue, at, enqueued, started, finished, died, wait, run, depth, oldest_ms)
  select queue, date_bin('10 s', now() - i * interval '10 s', timestamptz '2026-01-01'), n, n, n - 1, 1,
    array_fill(0, array[wait_at + i * i % 7 / 4]) || array[n / 2, n / 3, n / 9, 1],
    array_fill(0, array[run_at]) || array[n / 2, n / 3, n / 9, 1], greatest(0, depth + grows * (180 - i) + i % 5), 900
  from (values ('billing', 80, 9, 12, 12, 0), ('mail', 80, 7, 9, 30, 0), ('crm', 30, 10, 13, 4, 0), ('images', 22, 14, 17, 40, 6.4))
      as queues (queue, each, wait_at, run_at, depth, grows),
    generate_series(1, 180) i, lateral (select (each * (1 + 0.07 * sin(i * 1.3) + 0.06 * cos(i * 0.37)))::int as n) r
  on conflict do nothing;`

/** Failures and ticks of the day, where there are partitions for them. */
export const dayPast = `
  update sluice.job_dead set finished_at = greatest(date_trunc('day', now()), finished_at - (id * 37 % 1200) * interval '1 minute');
  insert into sluice.schedule_tick (schedule, tick, outcome, reason, settled_at)
  select 'reminder-mails', date_bin('15 min', now(), timestamptz '2026-01-01') - i * interval '15 minutes',
    case when i = 4 then 'skipped' when i = 7 then 'failed' else 'started' end,
    case when i = 4 then 'the run before it has not ended' when i = 7 then 'the args were refused' end,
    now() - i * interval '15 minutes'
  from generate_series(0, 12) i on conflict do nothing;`

/** The workers of this process as those of several machines. */
export const hosts = `
  update sluice.worker w set host = 'worker-' || n, pid = 4000 + 17 * n, started_at = now() - n * interval '7 hours'
  from (select id, row_number() over (order by started_at) as n from sluice.worker) numbered where numbered.id = w.id;`
