-- How jobs end.

-- Ends jobs that have succeeded, in one go: out of the live table, into history, their unique keys free.
create or replace function sluice.complete_jobs(
  p_ids bigint[], p_claim_ids bigint[], p_wait_ms integer[], p_run_ms integer[], p_empty_claims bigint[]
) returns table (ids text, keys text[], batches bigint[])
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  live bigint[] := array(select c.id from sluice.job_claim c where c.id = any(array(select distinct unnest(p_claim_ids))));
begin
  return query
    with done as (
      delete from sluice.job j
      using unnest(p_ids, p_claim_ids, p_wait_ms, p_run_ms) d(id, claim_id, wait_ms, run_ms)
      where j.id = d.id and (j.claim_id = d.claim_id or (j.state = 0 and d.claim_id = any(live)))
      returning j.id, d.claim_id, coalesce(j.enqueued_at, j.run_at) as enqueued_at, j.class_id, j.queue_id, d.wait_ms,
        d.run_ms, case j.state when 0 then 1 else j.attempt end as attempt, j.key_hash, j.unique_hash, j.batch_id
    ), history as (
      insert into sluice.job_history (id, claim_id, enqueued_at, class_id, queue_id, wait_ms, run_ms, attempt)
      select id, claim_id, enqueued_at, class_id, queue_id, wait_ms, run_ms, attempt
      from done
    ), unlocked as (
      delete from sluice.job_lock d
      where d.ctid = any(array(
        select l.ctid from sluice.job_lock l
        where l.hash = any(array(select unique_hash from done where unique_hash is not null))
          and l.job_id = any(array(select id from done where unique_hash is not null))
        for update skip locked))
    ), dropped as (
      delete from sluice.job_claim
      where id = any(p_empty_claims)
    )
    select string_agg(d.id::text, ','), array_agg(distinct d.key_hash::text) filter (where d.key_hash is not null),
      array_agg(d.batch_id) filter (where d.batch_id is not null)
    from done d;
end
$$;

-- Which of these jobs ended with success in a span of time, and under which claims. History has no index on ids: it is
-- read along its times, and whoever asks says how much of it.
create or replace function sluice.completed_jobs(p_ids bigint[], p_claim_ids bigint[], p_from timestamptz, p_to timestamptz)
returns table (id bigint, claim_id bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
  return query
    select h.id, h.claim_id
    from sluice.job_history h
    where h.finished_at >= p_from and h.finished_at < p_to and h.id = any(p_ids) and h.claim_id = any(p_claim_ids);
end
$$;

-- Ends jobs that nobody has claimed.
create or replace function sluice.end_waiting_jobs(p_ids bigint[], p_outcome text, p_reason text)
returns table (id bigint, key text, batch_id bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  hashes uuid[] := array(select j.unique_hash from sluice.job j where j.id = any(p_ids) and j.unique_hash is not null);
begin
  perform sluice.require_read_committed('sluice.end_waiting_jobs');
  -- Rows that somebody has locked are waited for here: whoever holds the lock of claims waits for nobody.
  perform
  from sluice.job j
  where j.id = any(p_ids) and j.claim_id is null
    and not (j.state = 0 and exists (select from sluice.job_claim c where c.job_ids @> j.id))
  order by j.id
  for update;
  if exists (select from sluice.job j where j.id = any(p_ids) and j.state = 0) then
    perform sluice.lock_claims();
  end if;
  return query
    with listed as materialized (
      select r from sluice.job_claim c cross join lateral unnest(c.job_ids) r
    ), gone as (
      delete from sluice.job j
      where j.id = any(p_ids) and j.claim_id is null
        and not (j.state = 0 and exists (select from listed l where l.r @> j.id))
      returning *
    ), dead as (
      insert into sluice.job_dead (id, enqueued_at, class_id, queue_id, priority, attempt, crashes, outcome, reason,
        args, key, key_hash, key_limit, tags, batch_id)
      select id, coalesce(enqueued_at, run_at), class_id, queue_id, priority, attempt, crashes, p_outcome, p_reason,
        args, key, key_hash, key_limit, tags, batch_id
      from gone
    ), unlocked as (
      delete from sluice.job_lock d
      where d.ctid = any(array(
        select l.ctid from sluice.job_lock l
        where l.hash = any(array(select unique_hash from gone where unique_hash is not null))
          and l.job_id = any(array(select id from gone where unique_hash is not null))
        for update skip locked))
    )
    select g.id, g.key_hash::text, g.batch_id from gone g;
  -- A key that an open transaction has met in use stays, but for nobody: the next who wants it takes it over.
  update sluice.job_lock l
  set expires_at = clock_timestamp()
  where l.ctid = any(array(
    select k.ctid from sluice.job_lock k
    where k.hash = any(hashes) and k.job_id = any(p_ids) and k.expires_at > clock_timestamp()
      and not exists (select from sluice.job j where j.id = k.job_id)
    for no key update skip locked));
end
$$;
