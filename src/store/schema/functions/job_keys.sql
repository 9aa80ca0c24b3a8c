-- Limits per key.

-- Locks the places of keys until the end of the transaction. In the order of places, so that two who lock the same ones
-- cannot wait for each other; for the same reason it is called once in a transaction, as the last thing in it.
create or replace function sluice.lock_job_keys(keys bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  p integer;
begin
  for p in select distinct (k & 65535)::integer from unnest(keys) k where k is not null order by 1 loop
    perform from sluice.job_key_turn where place = p for no key update;
    if not found then
      insert into sluice.job_key_turn (place) values (p) on conflict do nothing;
      perform from sluice.job_key_turn where place = p for no key update;
    end if;
  end loop;
end
$$;

-- Readies the heads of keys that have room. Whoever decides about a key holds its lock, and counts what is there:
-- nothing is kept that could leak. Gives the number of jobs that became ready.
create or replace function sluice.admit_jobs(keys bigint[]) returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  k bigint;
  room integer;
  -- Not as a constant: an index of all jobs in this state would look as good as that of the key.
  inside smallint := 4;
  admitted integer := 0;
  n integer;
begin
  -- An older snapshot would count wrongly: those who come later do it.
  if current_setting('transaction_isolation') <> 'read committed' then
    return 0;
  end if;
  perform sluice.lock_job_keys(keys);
  for k in select distinct key_hash from unnest(keys) key_hash where key_hash is not null order by 1 loop
    select j.key_limit - (select count(*) from sluice.job l where l.key_hash = k and l.state = inside)
    into room
    from sluice.job j
    where j.key_hash = k and j.state = 1
    order by j.key_hash, j.id
    limit 1;
    if room > 0 then
      -- As a list, not as a join, and in the order of the key's own index: with statistics of an empty table the planner
      -- would walk all jobs by their ids.
      update sluice.job set state = 4
      where id = any(array(select id from sluice.job where key_hash = k and state = 1
                           order by key_hash, id limit room));
      get diagnostics n = row_count;
      admitted := admitted + n;
    end if;
  end loop;
  return admitted;
end
$$;

-- Parks keyed jobs that are due and lets them in, and looks for keys with parked jobs and room: up to p_most keys after
-- p_after, so that the cost does not grow with the keys. Gives where to go on; null: from the first key.
create or replace function sluice.admit_waiting_jobs(p_after bigint, p_most integer, out admitted integer, out next_key bigint)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  due bigint[];
  roomy bigint[];
  looked bigint;
begin
  with parked as (
    update sluice.job set state = 1
    where id = any(array(select id from sluice.job where state = 3 and run_at <= statement_timestamp()
                         order by run_at limit 1000 for update skip locked))
    returning key_hash
  )
  select array_agg(distinct key_hash) into due from parked;
  -- From key to key along the index, not from job to job: one key may have a million.
  with recursive head as (
    (select j.key_hash, j.key_limit from sluice.job j where j.state = 1 and (p_after is null or j.key_hash > p_after)
     order by j.key_hash, j.id limit 1)
    union all
    select n.key_hash, n.key_limit
    from head h
    cross join lateral (select j.key_hash, j.key_limit from sluice.job j
      where j.state = 1 and j.key_hash > h.key_hash order by j.key_hash, j.id limit 1) n
  )
  select array_agg(k.key_hash) filter (where k.key_limit > k.inside), max(k.key_hash), count(*)
  into roomy, next_key, looked
  from (
    select h.key_hash, h.key_limit,
      (select count(*) from sluice.job l where l.key_hash = h.key_hash and l.state = 4) as inside
    from head h
    limit p_most) k;
  if looked < p_most then
    next_key := null;
  end if;
  admitted := sluice.admit_jobs(due || roomy);
end
$$;

revoke all on function
  sluice.admit_jobs(bigint[]),
  sluice.admit_waiting_jobs(bigint, integer)
  from public;
