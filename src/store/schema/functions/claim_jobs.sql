-- How workers claim jobs.

-- Refuses a transaction whose snapshot may be older than the lock that it waits for: what it then counts or claims is
-- wrong. Jobs would run twice.
create or replace function sluice.require_read_committed(p_what text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception '% needs a read committed transaction, and this one is %', p_what,
      current_setting('transaction_isolation')
      using errcode = '25000', hint = 'Begin it with "begin isolation level read committed".';
  end if;
end
$$;

-- Whoever claims new jobs, or ends one that nobody has claimed, holds this lock until he commits.
create or replace function sluice.lock_claims() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from sluice.claim_turn where id for update;
  if not found then
    -- A restore that left out the data of this table. Without the row nobody would wait for anybody.
    insert into sluice.claim_turn default values on conflict do nothing;
    perform from sluice.claim_turn where id for update;
  end if;
end
$$;

-- Whether a job may start whose unique key is held until then. A transaction that met the key in use counts on this job
-- to see its changes, and has locked the key's row until it ends. So the job waits for it, and the key goes to whoever
-- enqueues next: else, with always one such transaction open, the job would never start. That next job inherits the row
-- with its locks, and with them the wait for those who counted on this one, which then need not wait any longer.
create or replace function sluice.may_start(p_hash uuid, p_job_id bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from sluice.job_lock l
  where l.hash = p_hash and l.job_id = p_job_id and l.until = 0
  for update skip locked;
  if found then
    return true;
  end if;
  update sluice.job_lock l
  set expires_at = clock_timestamp()
  where l.ctid = any(array(
    select k.ctid from sluice.job_lock k
    where k.hash = p_hash and k.job_id = p_job_id and k.until = 0 and k.expires_at > clock_timestamp()
    for no key update skip locked));
  return not exists (select from sluice.job_lock l where l.hash = p_hash and l.job_id = p_job_id and l.until = 0);
end
$$;

-- Claims jobs for one worker in one go; see src/store/jobs/claim.ts. The planner must not be led astray by statistics,
-- which change faster than anybody can take them: only indexes and row addresses are good here. Before PostgreSQL 18 a
-- plan with a step that was forbidden and could not be avoided counts as endlessly expensive, and would be compiled
-- anew by each call: 700 ms instead of 3.
create or replace function sluice.claim_jobs(
  p_claim_id bigint, p_worker_id uuid, p_classes text[], p_queue_ids integer[], p_lane_queues integer[],
  p_lane_priorities smallint[], p_lane_floors bigint[], p_limit integer, p_free integer, p_suspects integer,
  p_life text, p_claims_floor bigint, out jobs text, out queues text, out missing boolean, out life text,
  out claims_floor bigint, out server_ms double precision
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  -- What the caller remembers of ids may be of another copy of these tables, from before a restore: its classes come by
  -- name, and the names of the queues of what is claimed go back to it.
  class_ids integer[] := array(select (select c.id from sluice.job_class c where c.name = n) from unnest(p_classes) n);
  marked_queues integer[];
  fresh_queues integer[];
  -- Numbers that were given out count within one life of the server and one copy of the table.
  era text := ' ' || extract(epoch from pg_postmaster_start_time()) || ' ' || pg_relation_filenode('sluice.job_claim');
  -- Row addresses; they stay good, because the caller's snapshot keeps what is behind them.
  picked tid[] := '{}';
  some_next boolean;
  some_due boolean;
  room integer;
  cancelled bigint[];
  listed int8multirange;
  took int8multirange;
  hashes uuid[];
  owners bigint[];
  marked text;
  fresh text;
  fresh_ids int8multirange;
  fresh_hashes uuid[];
  fresh_owners bigint[];
begin
  perform sluice.require_read_committed('sluice.claim_jobs');
  -- Next in line. What was claimed when a worker died may have been its death, or only fetched ahead: it comes only
  -- where it can begin at once, so that a second death says more; after that, one at a time, and after the third
  -- never: the sweep isolates it.
  select exists (select from sluice.job j where j.state = 4 and j.claim_id is null),
    exists (select from sluice.job j
            where j.state = 2 and j.queue_id = any(p_queue_ids) and j.run_at <= statement_timestamp())
  into some_next, some_due;
  if some_next then
    picked := array(
      select j.ctid
      from unnest(p_queue_ids) q(id)
      cross join lateral (
        select ctid from sluice.job j
        where j.state = 4 and (j.queue_id, j.priority) >= (q.id, 0::smallint) and j.queue_id <= q.id
          and j.claim_id is null and j.crashes = 0 and j.class_id = any(class_ids)
          and (j.unique_hash is null or sluice.may_start(j.unique_hash, j.id))
        order by j.queue_id, j.priority, j.id
        limit p_limit
        for update skip locked) j
      limit p_limit);
    picked := picked || array(
      select j.ctid
      from unnest(p_queue_ids) q(id)
      cross join lateral (
        select ctid from sluice.job j
        where j.state = 4 and (j.queue_id, j.priority) >= (q.id, 0::smallint) and j.queue_id <= q.id
          and j.claim_id is null and j.crashes = 1 and j.class_id = any(class_ids)
        order by j.queue_id, j.priority, j.id
        limit p_free
        for update skip locked) j
      limit p_free);
    picked := picked || array(
      select j.ctid
      from unnest(p_queue_ids) q(id)
      cross join lateral (
        select ctid from sluice.job j
        where j.state = 4 and (j.queue_id, j.priority) >= (q.id, 0::smallint) and j.queue_id <= q.id
          and j.claim_id is null and j.crashes = 2 and j.class_id = any(class_ids)
        order by j.queue_id, j.priority, j.id
        limit p_suspects
        for update skip locked) j
      limit p_suspects);
  end if;
  -- What is due gets half of the room at most: a rush of retries must not keep new jobs out.
  if some_due then
    picked := picked || array(
      select j.ctid
      from unnest(p_queue_ids) q(id)
      cross join lateral (
        select ctid from sluice.job j
        where j.state = 2 and j.queue_id = q.id and j.run_at <= statement_timestamp() and j.claim_id is null
          and j.class_id = any(class_ids)
          and (j.unique_hash is null or sluice.may_start(j.unique_hash, j.id))
        order by j.run_at
        limit (p_limit + 1) / 2
        for update skip locked) j
      limit (p_limit + 1) / 2);
  end if;
  if cardinality(picked) > 0 then
    cancelled := array(select job_id from sluice.job_cancel);
    with claimed as (
      update sluice.job j
      set claim_id = p_claim_id, attempt = j.attempt + 1
      where j.ctid = any(picked) and j.claim_id is null
      returning j.*
    )
    select string_agg('[' || c.id || ',' || coalesce(array_position(class_ids, c.class_id), 0) || ',' || c.queue_id || ',' || c.priority || ',' || c.state
        || ',' || c.attempt || ',' || c.crashes || ',' || date_part('epoch', c.run_at) || ',' || c.args::text
        || case when c.enqueued_at is null and c.tags is null and c.tries is null and c.key_hash is null
             and c.batch_id is null and c.id <> all(cancelled) then ''
           else ',' || json_build_array(date_part('epoch', c.enqueued_at), c.tags, c.tries, c.key_hash is not null,
             (select x.reason from sluice.job_cancel x where x.job_id = c.id), c.batch_id)::text end
        || ']', ','), range_agg(int8range(c.id, c.id, '[]')),
      array_agg(c.unique_hash) filter (where c.unique_hash is not null),
      array_agg(c.id) filter (where c.unique_hash is not null), array_agg(c.queue_id)
    into marked, took, hashes, owners, marked_queues
    from claimed c;
  end if;
  room := p_limit - cardinality(picked);
  life := p_life;
  claims_floor := p_claims_floor;
  -- Most claims find nothing, and then nothing is locked: a lock is a write, and makes the server wait for its disk.
  if room > 0 and (
    not exists (select from sluice.server_life k where k.id || era = p_life)
    or exists (
      select from unnest(p_lane_queues, p_lane_priorities, p_lane_floors) n(queue_id, priority, floor)
      cross join lateral (
        select from sluice.job w
        where w.state = 0 and (w.queue_id, w.priority, w.id) > (n.queue_id, n.priority, n.floor)
          and (w.queue_id, w.priority, w.id) < (n.queue_id, (n.priority + 1)::smallint, 0::bigint)
        limit 1) w)) then
    perform sluice.lock_claims();
    -- First the lists, then the jobs: who is on no list then is on none now.
    select l.id || era, coalesce(c.listed, '{}'), coalesce(c.seq, s.last_value + s.is_called::integer)
    into life, listed, claims_floor
    from sluice.job_claim_seq_seq s
    left join sluice.server_life l on true
    cross join lateral (
      select range_agg(r) as listed, min(c.seq) as seq
      from sluice.job_claim c
      cross join lateral unnest(c.job_ids) r
      where c.seq >= case when l.id || era = p_life and p_claims_floor <= s.last_value + s.is_called::integer
        then p_claims_floor else 0 end) c;
    if life is null then
      insert into sluice.server_life (id) values (gen_random_uuid()) returning id || era into life;
    end if;
    -- One text for all of them is made and read much faster than a row for each.
    select string_agg('[' || j.id || ',' || coalesce(array_position(class_ids, j.class_id), 0) || ',' || j.queue_id || ',' || j.priority || ',0,1,0,'
        || date_part('epoch', j.run_at) || ',' || j.args::text
        || case when j.tags is null and j.enqueued_at is null and j.batch_id is null then ''
           else ',' || json_build_array(date_part('epoch', j.enqueued_at), j.tags, null, false, null, j.batch_id)::text end
        || ']', ','), range_agg(int8range(j.id, j.id, '[]')),
      array_agg(j.unique_hash) filter (where j.unique_hash is not null),
      array_agg(j.id) filter (where j.unique_hash is not null), array_agg(j.queue_id)
    into fresh, fresh_ids, fresh_hashes, fresh_owners, fresh_queues
    from (
      select j.*
      from unnest(p_lane_queues, p_lane_priorities, p_lane_floors) l(queue_id, priority, floor)
      cross join lateral (
        select * from sluice.job j
        -- As one range of this index: by equal queue and priority, the primary key would look just as good.
        where j.state = 0 and (j.queue_id, j.priority, j.id) > (l.queue_id, l.priority, l.floor)
          and (j.queue_id, j.priority, j.id) < (l.queue_id, (l.priority + 1)::smallint, 0::bigint)
          and not (listed @> j.id) and j.class_id = any(class_ids)
          and (j.unique_hash is null or sluice.may_start(j.unique_hash, j.id))
        order by j.queue_id, j.priority, j.id
        limit room) j
      limit room) j;
  end if;
  server_ms := date_part('epoch', clock_timestamp()) * 1000;
  missing := array_position(class_ids, null) is not null;
  if marked is null and fresh is null then
    return;
  end if;
  select json_object_agg(q.id, q.name)::text into queues
  from sluice.queue q
  where q.id = any(marked_queues || fresh_queues);
  insert into sluice.job_claim (id, worker_id, job_ids)
  values (p_claim_id, p_worker_id, coalesce(took, '{}') + coalesce(fresh_ids, '{}'));
  hashes := hashes || fresh_hashes;
  if cardinality(hashes) > 0 then
    owners := owners || fresh_owners;
    -- All of them are locked by now: their jobs would not be here otherwise.
    delete from sluice.job_lock d
    where d.ctid = any(array(
      select l.ctid from sluice.job_lock l
      where l.hash = any(hashes) and l.job_id = any(owners) and l.until = 0
      for update skip locked));
  end if;
  jobs := '[' || concat_ws(',', marked, fresh) || ']';
end
$$;

-- Queues with jobs that could be claimed, from queue to queue along the indexes: up to p_most steps in each, after the
-- queue p_after. Gives after which one to go on; null: from the first.
create or replace function sluice.busy_queues(p_after integer, p_most integer, out ids integer[], out next_after integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  fresh integer[];
  waiting integer[];
  scheduled integer[];
  due integer[];
begin
  fresh := array(
    with recursive step as (
      (select j.queue_id from sluice.job j where j.state = 0 and j.queue_id > p_after order by j.queue_id limit 1)
      union all
      select n.queue_id
      from step s
      cross join lateral (select j.queue_id from sluice.job j
        where j.state = 0 and j.queue_id > s.queue_id order by j.queue_id limit 1) n
    )
    select queue_id from step limit p_most);
  waiting := array(
    with recursive step as (
      (select j.queue_id from sluice.job j
       where j.state = 4 and j.claim_id is null and j.queue_id > p_after order by j.queue_id limit 1)
      union all
      select n.queue_id
      from step s
      cross join lateral (select j.queue_id from sluice.job j
        where j.state = 4 and j.claim_id is null and j.queue_id > s.queue_id order by j.queue_id limit 1) n
    )
    select queue_id from step limit p_most);
  -- The first scheduled job of a queue tells whether any is due.
  with recursive step as (
    (select j.queue_id, j.run_at from sluice.job j
     where j.state = 2 and j.queue_id > p_after order by j.queue_id, j.run_at limit 1)
    union all
    select n.queue_id, n.run_at
    from step s
    cross join lateral (select j.queue_id, j.run_at from sluice.job j
      where j.state = 2 and j.queue_id > s.queue_id order by j.queue_id, j.run_at limit 1) n
  )
  select coalesce(array_agg(s.queue_id), '{}'),
    array_agg(s.queue_id) filter (where s.run_at <= statement_timestamp())
  into scheduled, due
  from (select queue_id, run_at from step limit p_most) s;
  ids := array(select distinct q from unnest(fresh || waiting || due) q);
  -- A list that is full may go on: from the first of these ends, nothing is left out.
  next_after := least(fresh[p_most], waiting[p_most], scheduled[p_most]);
end
$$;
