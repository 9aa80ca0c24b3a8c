-- What is in each queue. Some pages of the table stand for all, always the same ones, so that the course of a queue is
-- smooth; of a small table, these are all pages. Queues that hardly show there are looked at by themselves, up to p_most
-- jobs of each state and priority. Due is what could run now and nobody has claimed, or would but for others with its
-- key; parked, what no running worker knows the name of.
create or replace function sluice.queue_counts(p_most integer default 2000, p_pages integer default 200)
returns table (queue text, due bigint, waiting bigint, scheduled bigint, blocked bigint, running bigint, parked bigint,
  estimated boolean, oldest_ms bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  claimed int8multirange;
  known integer[];
  pages real := pg_relation_size('sluice.job') / current_setting('block_size')::real;
  percent real := least(100, 100 * p_pages / greatest(pages, 1));
begin
  select coalesce(range_agg(r), '{}') into claimed from sluice.job_claim k, unnest(k.job_ids) r;
  select coalesce(array_agg(c.id), '{}') into known
  from sluice.job_class c
  where exists (select from sluice.worker w
    where c.name = any(w.jobs) and w.seen_at > clock_timestamp() - interval '2 minutes');
  return query
  with sample as materialized (
    select j.id, j.queue_id, j.class_id, j.claim_id, j.state, j.run_at
    from sluice.job j tablesample system (percent) repeatable (7)
  ), few as materialized (
    select q.id
    from sluice.queue q
    left join (select s.queue_id, count(*) as jobs from sample s group by s.queue_id) n on n.queue_id = q.id
    where percent < 100 and coalesce(n.jobs, 0) < 200
  ), looked as materialized (
    -- In the order of their indexes, and without saying so: who asks for the order of ids may be given the primary key,
    -- and with it all jobs of other queues.
    select l.id, l.queue_id, l.class_id, l.claim_id, l.state, l.run_at, l.nth = p_most as cut
    from few f
    cross join lateral (
      select i.*, row_number() over (partition by i.state, i.priority) as nth
      from unnest(array[0, 1, 2]::smallint[]) p(priority)
      cross join lateral (
        (select j.* from sluice.job j
         where j.state = 0 and j.queue_id = f.id and j.priority = p.priority limit p_most)
        union all
        (select j.* from sluice.job j
         where j.state = 4 and j.queue_id = f.id and j.priority = p.priority limit p_most)) i
      union all
      select i.*, row_number() over () as nth
      from (select j.* from sluice.job j
            where j.state = 2 and j.queue_id = f.id order by j.run_at limit p_most) i) l
  ), behind as materialized (
    -- Behind others with the same key, now or then. Their indexes do not know queues.
    select i.id, i.queue_id, i.class_id, i.claim_id, i.state, i.run_at,
      count(*) over (partition by i.state) = p_most as cut
    from ((select j.* from sluice.job j where j.state = 1 and exists (select from few) limit p_most)
          union all
          (select j.* from sluice.job j where j.state = 3 and exists (select from few) order by j.run_at limit p_most)) i
  ), cuts as materialized (
    select f.id
    from few f
    where exists (select from looked l where l.queue_id = f.id and l.cut) or exists (select from behind b where b.cut)
  ), jobs as (
    select true as sampled, s.* from sample s
    union all
    select false, l.id, l.queue_id, l.class_id, l.claim_id, l.state, l.run_at from looked l
    union all
    select false, b.id, b.queue_id, b.class_id, b.claim_id, b.state, b.run_at
    from behind b
    where b.queue_id in (select f.id from few f)
  ), sums as materialized (
    select j.sampled, j.queue_id,
      count(*) filter (where j.state in (0, 4)) as waiting,
      count(*) filter (where j.state in (2, 3)) as scheduled,
      count(*) filter (where j.state = 1) as blocked,
      count(*) filter (where j.class_id <> all(known)) as parked,
      count(*) filter (where d.due) as due,
      min(j.run_at) filter (where d.due) as oldest
    from jobs j
    cross join lateral (
      select j.state in (0, 1, 4) or j.state = 2 and j.run_at <= statement_timestamp() as due) d
    where j.claim_id is null and not (j.state = 0 and claimed @> j.id)
    group by j.sampled, j.queue_id
  ), runs as materialized (
    select j.queue_id, count(*) as jobs
    from sluice.job_claim k
    cross join lateral unnest(k.job_ids) r
    join sluice.job j on j.id >= lower(r) and j.id < upper(r) and (j.claim_id = k.id or j.state = 0)
    group by j.queue_id
  )
  select q.name, n.due, n.waiting, n.scheduled, n.blocked, coalesce(r.jobs, 0), n.parked,
    percent < 100 and (f.id is null or c.id is not null),
    case when n.oldest is not null
      then greatest(0, round(1000 * extract(epoch from statement_timestamp() - n.oldest))) end::bigint
  from sluice.queue q
  left join few f on f.id = q.id
  left join cuts c on c.id = q.id
  left join runs r on r.queue_id = q.id
  cross join lateral (
    -- What was counted is there; what the pages stand for may be more.
    select coalesce(max(s.due * s.weight), 0)::bigint as due, coalesce(max(s.waiting * s.weight), 0)::bigint as waiting,
      coalesce(max(s.scheduled * s.weight), 0)::bigint as scheduled,
      coalesce(max(s.blocked * s.weight), 0)::bigint as blocked,
      coalesce(max(s.parked * s.weight), 0)::bigint as parked, min(s.oldest) as oldest
    from (select s.*, case when s.sampled then 100 / percent else 1 end as weight from sums s
          where s.queue_id = q.id and case when s.sampled then f.id is null or c.id is not null else true end) s) n;
end
$$;

-- How long the queues are, for samples and alerts.
create or replace function sluice.queue_depths(p_most integer default 2000, p_pages integer default 200)
returns table (queue text, depth bigint, estimated boolean, oldest_ms bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.queue, c.due, c.estimated, c.oldest_ms from sluice.queue_counts(p_most, p_pages) c
$$;
