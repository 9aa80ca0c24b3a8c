-- Batches of jobs.

-- Opens a batch: {"description", "parent": {"id", "member"}, "onSuccess", "onComplete", "onDeath"}.
create or replace function sluice.open_job_batch(spec text) returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  s jsonb := spec::jsonb;
  problem text := sluice.job_batch_problem(s);
  parent bigint;
  around sluice.job_batch;
  opened bigint;
begin
  if problem is not null then
    raise exception 'sluice.open_job_batch: %', problem using errcode = '22023';
  end if;
  parent := (s #>> '{parent,id}')::bigint;
  insert into sluice.job_batch (parent_id, description, on_success, on_complete, on_death)
  values (parent, s ->> 'description', nullif(s -> 'onSuccess', 'null'), nullif(s -> 'onComplete', 'null'),
    nullif(s -> 'onDeath', 'null'))
  returning id into opened;
  if parent is not null then
    around := sluice.join_job_batch(parent, (s #>> '{parent,member}')::bigint);
    if around.parent_id is not null then
      raise exception 'batch of jobs % is inside of another one: batches nest one level deep', parent
        using errcode = '22023';
    end if;
    insert into sluice.job_batch_addition (batch_id, members, job_ids) values (parent, 1, '{}');
  end if;
  return opened;
end
$$;

-- What is wrong with what open_job_batch was given; null: nothing. A callback that could not be enqueued would fail the
-- endings of all members.
create or replace function sluice.job_batch_problem(s jsonb) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when jsonb_typeof(s) <> 'object' then 'it must be a JSON object'
    when jsonb_typeof(s -> 'description') not in ('string', 'null') or length(s ->> 'description') > 1000
      then '"description" must be a text of up to 1,000 characters'
    when jsonb_typeof(s -> 'parent') not in ('object', 'null')
        or (jsonb_typeof(s -> 'parent') = 'object' and (coalesce(s #>> '{parent,id}', '') !~ '^[1-9][0-9]{0,17}$'
          or coalesce(s #>> '{parent,member}', '1') !~ '^[1-9][0-9]{0,17}$'))
      then '"parent" must be an object with the id of a batch of jobs, and the id of the member that opens this one, if one does'
    else coalesce(
      (select format('there is no field "%s"', left(k, 100)) from jsonb_object_keys(s) k
       where k not in ('description', 'parent', 'onSuccess', 'onComplete', 'onDeath') limit 1),
      (select format('"%s": %s', c.key, p.problem)
       from jsonb_each(s) c
       cross join lateral (select case
         when c.value ? 'batch' then 'a callback cannot join a batch'
         when jsonb_typeof(c.value -> 'unique') <> 'null' then 'a callback cannot be unique: it would get lost'
         else sluice.enqueue_problem(c.value) end) p(problem)
       where c.key in ('onSuccess', 'onComplete', 'onDeath') and jsonb_typeof(c.value) <> 'null'
         and p.problem is not null
       limit 1))
  end
$$;

-- Lets somebody add to a batch until the end of the transaction, or refuses. Once it is sealed, only from inside.
create or replace function sluice.join_job_batch(p_id bigint, p_member bigint) returns sluice.job_batch
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  b sluice.job_batch;
begin
  select * into b from sluice.job_batch where id = p_id for key share;
  if not found then
    if exists (select from sluice.job_batch_history where id = p_id) then
      raise exception 'batch of jobs % is over: nothing can be added to it', p_id using errcode = '55000';
    end if;
    raise exception 'there is no batch of jobs %', p_id using errcode = 'P0002';
  end if;
  if b.cancelled_at is not null then
    raise exception 'batch of jobs % is cancelled: nothing can be added to it', p_id using errcode = '55000';
  end if;
  if b.sealed_at is not null
     and (p_member is null or not exists (select from sluice.job where id = p_member and batch_id = p_id)) then
    raise exception 'batch of jobs % is sealed: only its unfinished members can add to it', p_id using errcode = '55000';
  end if;
  return b;
end
$$;

-- Notes jobs that were just enqueued as members: of all that were given, those at these places.
create or replace function sluice.batch_members_added(p_jobs jsonb, p_places integer[], p_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  g record;
begin
  for g in
    select n.id, n.ids, n.member
    from (
      select (e.x #>> '{batch,id}')::bigint as id, array_agg(p.id order by p.id) as ids,
        case when bool_and(e.x #> '{batch,member}' is not null) then min((e.x #>> '{batch,member}')::bigint) end as member
      from unnest(p_places, p_ids) p(place, id)
      cross join lateral (select p_jobs -> p.place as x) e
      group by 1
    ) n
    left join sluice.job_batch b on b.id = n.id
    order by b.parent_id is null, n.id
  loop
    perform sluice.join_job_batch(g.id, g.member);
    insert into sluice.job_batch_addition (batch_id, members, job_ids) values (g.id, cardinality(g.ids), g.ids);
  end loop;
end
$$;

-- Says that nothing more comes from outside. Doing it again changes nothing.
create or replace function sluice.seal_job_batch(p_id bigint) returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  b sluice.job_batch;
begin
  select * into b from sluice.job_batch where id = p_id for update;
  if not found then
    if exists (select from sluice.job_batch_history where id = p_id) then
      return '[]';
    end if;
    raise exception 'there is no batch of jobs %', p_id using errcode = 'P0002';
  end if;
  if b.sealed_at is not null then
    return '[]';
  end if;
  -- An older snapshot does not see all members.
  if current_setting('transaction_isolation') <> 'read committed' and b.opened_by <> pg_current_xact_id() then
    raise exception 'batch of jobs % was opened in another transaction: seal it in a read committed one', p_id
      using errcode = '25000';
  end if;
  update sluice.job_batch set sealed_at = clock_timestamp() where id = p_id;
  perform sluice.fold_job_batch(p_id);
  return jsonb_build_array(jsonb_build_object('event', 'sealed', 'batchId', p_id,
      'total', (select total from sluice.job_batch where id = p_id)))
    || sluice.settle_job_batch_and_above(p_id);
end
$$;

-- Counts members that have ended, in the transaction in which they end: one call for all of them. Takes tallies; gives
-- what happened.
create or replace function sluice.batch_members_ended(p_tallies jsonb) returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  tallies jsonb := p_tallies;
  news jsonb := '[]';
  nested boolean;
  b record;
  settled record;
begin
  -- An older snapshot does not see all members.
  perform sluice.require_read_committed('a batch of jobs');
  -- In one order for all: job rows before, then batches inside of others by id, then the others by id.
  foreach nested in array array[true, false] loop
    for b in
      select j.id
      from sluice.job_batch j
      where j.id in (select t.batch from sluice.tallies_by_batch(tallies) t)
        and (j.parent_id is not null) = nested
      order by j.id
      for no key update
    loop
      with added as (
        update sluice.job_batch_addition
        set folded = true
        where batch_id = b.id and not folded
        returning members
      )
      update sluice.job_batch j
      set total = j.total + (select coalesce(sum(members), 0) from added), succeeded = j.succeeded + t.succeeded,
        failed = j.failed + t.failed, died = j.died + t.died, touched_at = clock_timestamp()
      from sluice.tallies_by_batch(tallies) t
      where j.id = b.id and t.batch = b.id;
      settled := sluice.settle_job_batch(b.id);
      news := news || settled.news;
      if settled.above is not null then
        tallies := tallies || jsonb_build_array(settled.above);
      end if;
    end loop;
  end loop;
  return news;
end
$$;

-- Sums an array of {"batch", "succeeded", "failed", "died"} by batch.
create or replace function sluice.tallies_by_batch(p_tallies jsonb)
returns table (batch bigint, succeeded integer, failed integer, died integer)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select x.batch, coalesce(sum(x.succeeded), 0)::integer, coalesce(sum(x.failed), 0)::integer,
    coalesce(sum(x.died), 0)::integer
  from jsonb_to_recordset(p_tallies) x(batch bigint, succeeded integer, failed integer, died integer)
  group by x.batch
$$;

-- Counts what was added. Under a lock on the batch.
create or replace function sluice.fold_job_batch(p_id bigint) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  with added as (
    update sluice.job_batch_addition
    set folded = true
    where batch_id = p_id and not folded
    returning members
  )
  update sluice.job_batch
  set total = total + n.members, touched_at = clock_timestamp()
  from (select sum(members) as members from added) n
  where id = p_id and n.members > 0
$$;

-- Does what the counters of a batch ask for: calls back, and ends it when it is over. Under a lock on the batch.
-- "above" is what the batch around it has to count then.
create or replace function sluice.settle_job_batch(p_id bigint, out news jsonb, out above jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  b sluice.job_batch;
  result text;
  now timestamptz;
begin
  news := '[]';
  select * into b from sluice.job_batch where id = p_id;
  if b.died > 0 then
    news := news || sluice.call_back_job_batch(b, 'death');
  end if;
  if b.sealed_at is null or b.succeeded + b.failed < b.total then
    return;
  end if;
  -- Who adds a member holds a weaker lock on this row, which does not keep others from counting. Now it is waited for.
  perform from sluice.job_batch where id = p_id for update;
  perform sluice.fold_job_batch(p_id);
  select * into b from sluice.job_batch where id = p_id;
  -- Counters may be wrong; what is there is not. The sweep counts anew.
  if b.succeeded + b.failed < b.total
     or exists (select from sluice.job where batch_id = p_id)
     or exists (select from sluice.job_batch where parent_id = p_id) then
    return;
  end if;
  result := case when b.cancelled_at is not null then 'cancelled' when b.failed > 0 then 'failed' else 'succeeded' end;
  if result = 'succeeded' then
    news := news || sluice.call_back_job_batch(b, 'success');
  end if;
  news := news || sluice.call_back_job_batch(b, 'complete');
  now := clock_timestamp();
  if to_regclass('sluice.job_batch_history_'
      || to_char(date_trunc('week', now at time zone 'UTC'), 'YYYYMMDD')) is null then
    perform sluice.create_job_batch_partitions(1);
  end if;
  with calls as (
    delete from sluice.job_batch_callback where batch_id = p_id returning kind, job_id, at
  ), additions as (
    delete from sluice.job_batch_addition where batch_id = p_id returning job_ids
  ), gone as (
    delete from sluice.job_batch where id = p_id
  )
  insert into sluice.job_batch_history (id, parent_id, opened_at, sealed_at, finished_at, total, succeeded, failed, died,
    outcome, cancel_reason, description, on_success, on_complete, on_death, callbacks, job_ids)
  select b.id, b.parent_id, b.opened_at, b.sealed_at, now, b.total, b.succeeded, b.failed, b.died, result,
    b.cancel_reason, b.description, b.on_success, b.on_complete, b.on_death,
    (select coalesce(jsonb_agg(jsonb_build_object('kind', c.kind, 'job_id', c.job_id, 'at', c.at)), '[]') from calls c),
    array(select unnest(a.job_ids) from additions a order by 1);
  news := news || jsonb_build_array(jsonb_build_object('event', 'finished', 'batchId', b.id, 'state', result,
    'total', b.total, 'succeeded', b.succeeded, 'failed', b.failed));
  if b.parent_id is not null then
    above := jsonb_build_object('batch', b.parent_id, 'succeeded', (result = 'succeeded')::integer,
      'failed', (result <> 'succeeded')::integer, 'died', (b.died > 0)::integer);
  end if;
end
$$;

-- The same after a single batch was settled: what is around it.
create or replace function sluice.settle_job_batch_and_above(p_id bigint) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  settled record;
begin
  settled := sluice.settle_job_batch(p_id);
  if settled.above is null then
    return settled.news;
  end if;
  return settled.news || sluice.batch_members_ended(jsonb_build_array(settled.above));
end
$$;

-- Enqueues a callback, unless there is none of that kind or it was enqueued before. Gives what happened.
create or replace function sluice.call_back_job_batch(b sluice.job_batch, p_kind text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  spec jsonb := case p_kind when 'success' then b.on_success when 'complete' then b.on_complete else b.on_death end;
  callback_id bigint;
begin
  if spec is null then
    return '[]';
  end if;
  insert into sluice.job_batch_callback (batch_id, kind) values (b.id, p_kind) on conflict do nothing;
  if not found then
    return '[]';
  end if;
  spec := spec || jsonb_build_object('tags', coalesce(spec -> 'tags', '[]') || to_jsonb('batch:' || b.id));
  select e.id into callback_id from sluice.enqueue(spec::text, true, true) e;
  update sluice.job_batch_callback set job_id = callback_id where batch_id = b.id and kind = p_kind;
  return jsonb_build_array(jsonb_build_object('event', 'called', 'batchId', b.id, 'kind', p_kind, 'jobId', callback_id));
end
$$;

-- Completes jobs of which some are members, and counts those, in one statement.
create or replace function sluice.complete_member_jobs(
  p_ids bigint[], p_claim_ids bigint[], p_wait_ms integer[], p_run_ms integer[], p_empty_claims bigint[],
  p_lock_ms integer
) returns table (ids text, keys text[], news jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  done record;
begin
  if p_lock_ms is not null then
    perform set_config('lock_timeout', p_lock_ms::text, true);
  end if;
  select c.* into done from sluice.complete_jobs(p_ids, p_claim_ids, p_wait_ms, p_run_ms, p_empty_claims) c;
  ids := done.ids;
  keys := done.keys;
  news := '[]';
  if done.batches is not null then
    news := sluice.batch_members_ended((
      select jsonb_agg(jsonb_build_object('batch', b.id, 'succeeded', b.n))
      from (select id, count(*) as n from unnest(done.batches) id group by id) b));
  end if;
  return next;
end
$$;

-- Readies new members that nobody has claimed for their end: from then on, who claims one must lock its row. To end a
-- member is to wait for its batch, and whoever holds the lock of claims waits for nobody: so this is committed first.
create or replace function sluice.set_aside_members(p_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform sluice.require_read_committed('sluice.set_aside_members');
  perform from sluice.job where id = any(p_ids) and batch_id is not null and state = 0 order by id for update;
  if not found then
    return;
  end if;
  perform sluice.lock_claims();
  with listed as materialized (
    select r from sluice.job_claim c cross join lateral unnest(c.job_ids) r
  )
  update sluice.job j
  set state = 4
  where j.id = any(p_ids) and j.batch_id is not null and j.state = 0
    and not exists (select from listed l where l.r @> j.id);
end
$$;

-- Ends jobs that nobody has claimed, and counts the members among them.
create or replace function sluice.end_waiting_members(
  p_ids bigint[], p_outcome text, p_reason text, out touched jsonb, out news jsonb
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  select jsonb_agg(jsonb_build_object('id', e.id, 'key', e.key, 'batch_id', e.batch_id))
  into touched
  from sluice.end_waiting_jobs(p_ids, p_outcome, p_reason) e;
  select sluice.batch_members_ended(jsonb_agg(jsonb_build_object('batch', b.batch_id, 'failed', b.n)))
  into news
  from (select t.batch_id, count(*) as n
        from jsonb_to_recordset(coalesce(touched, '[]')) t(batch_id bigint)
        where t.batch_id is not null
        group by t.batch_id) b
  having count(*) > 0;
  news := coalesce(news, '[]');
end
$$;

-- Locks a batch of jobs for who is about to change it, and gives the state that it is in; null: there is none.
create or replace function sluice.lock_job_batch(p_id bigint) returns text
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  b sluice.job_batch;
begin
  select * into b from sluice.job_batch where id = p_id for update;
  if found then
    return case when b.cancelled_at is not null then 'cancelling' when b.sealed_at is null then 'open' else 'sealed' end;
  end if;
  return (select h.outcome from sluice.job_batch_history h where h.id = p_id);
end
$$;

-- Marks a batch as cancelled, which also seals it. Its members are ended by the caller, and by the sweep after a crash.
create or replace function sluice.cancel_job_batch(p_id bigint, p_reason text) returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  b sluice.job_batch;
begin
  perform sluice.require_read_committed('a batch of jobs');
  select * into b from sluice.job_batch where id = p_id for update;
  if not found then
    if exists (select from sluice.job_batch_history where id = p_id) then
      raise exception 'batch of jobs % is over', p_id using errcode = '55000';
    end if;
    raise exception 'there is no batch of jobs %', p_id using errcode = 'P0002';
  end if;
  if b.cancelled_at is not null then
    return '[]';
  end if;
  update sluice.job_batch
  set cancelled_at = clock_timestamp(), cancel_reason = p_reason, sealed_at = coalesce(sealed_at, clock_timestamp())
  where id = p_id;
  perform sluice.fold_job_batch(p_id);
  return jsonb_build_array(jsonb_build_object('event', 'cancelled', 'batchId', p_id, 'reason', p_reason))
    || sluice.settle_job_batch_and_above(p_id);
end
$$;

-- Takes back that members failed: they were taken up again, in this transaction. A batch that was over is not any more.
-- Takes tallies.
create or replace function sluice.batch_members_back(p_tallies jsonb) returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  tallies jsonb := p_tallies;
  news jsonb := '[]';
  nested boolean;
  g record;
  parent bigint;
begin
  foreach nested in array array[true, false] loop
    for g in
      select t.batch as id, t.failed
      from sluice.tallies_by_batch(tallies) t
      where exists (select from sluice.job_batch b where b.id = t.batch and (b.parent_id is not null) = nested)
        or exists (select from sluice.job_batch_history h where h.id = t.batch and (h.parent_id is not null) = nested)
      order by 1
    loop
      -- Twice: what is not live now may have been brought back by another meanwhile, or is by this.
      for round in 1 .. 2 loop
        update sluice.job_batch
        set failed = greatest(failed - g.failed, 0), cancelled_at = null, cancel_reason = null,
          touched_at = clock_timestamp()
        where id = g.id;
        exit when found;
        with old as (
          delete from sluice.job_batch_history where id = g.id returning *
        ), calls as (
          insert into sluice.job_batch_callback (batch_id, kind, job_id, at)
          select o.id, c.kind, c.job_id, c.at
          from old o
          cross join lateral jsonb_to_recordset(o.callbacks) c(kind text, job_id bigint, at timestamptz)
        ), additions as (
          insert into sluice.job_batch_addition (batch_id, members, folded, job_ids)
          select o.id, cardinality(o.job_ids), true, o.job_ids from old o
        )
        insert into sluice.job_batch (id, parent_id, opened_at, sealed_at, total, succeeded, failed, died, description,
          on_success, on_complete, on_death)
        select id, parent_id, opened_at, sealed_at, total, succeeded, failed, died, description, on_success,
          on_complete, on_death
        from old
        returning parent_id into parent;
        if found then
          news := news || jsonb_build_array(jsonb_build_object('event', 'reopened', 'batchId', g.id));
          if parent is not null then
            tallies := tallies || jsonb_build_array(jsonb_build_object('batch', parent, 'failed', 1));
          end if;
        end if;
      end loop;
    end loop;
  end loop;
  return news;
end
$$;

-- Counts a sealed batch anew from what is there, and settles it: the net under everything above. Successes are only
-- known for as long as the history of jobs is kept. A member that left no trace at all counts as failed.
--
-- Where only history can tell what became of members, nothing is decided: the answer is "unclear", and the caller counts
-- them there, in small spans and without a lock, and comes back with their number and the "seen" of that answer. The
-- number holds only if no member has ended or was taken back meanwhile; both change touched_at.
create or replace function sluice.mend_job_batch(
  p_id bigint, p_keep_days integer, p_seen timestamptz default null, p_completed bigint default null
) returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  b sluice.job_batch;
  n record;
  done bigint;
  news jsonb := '[]';
begin
  perform sluice.require_read_committed('a batch of jobs');
  select * into b from sluice.job_batch where id = p_id and sealed_at is not null for no key update skip locked;
  if not found then
    return news;
  end if;
  -- One statement, and so one snapshot. Nobody can end or take back a member while the row is locked.
  with folded as (
    update sluice.job_batch_addition set folded = true where batch_id = p_id and not folded
  ), member as materialized (
    select unnest(job_ids) as id from sluice.job_batch_addition where batch_id = p_id
  )
  select
    (select count(*) from member) as jobs,
    (select coalesce(sum(members), 0) from sluice.job_batch_addition where batch_id = p_id and not folded) as added,
    (select count(*) from sluice.job where batch_id = p_id) as live,
    (select count(*) from sluice.job_dead where batch_id = p_id) as dead,
    (select count(*) from sluice.job_dead where batch_id = p_id and outcome in ('dead', 'quarantined')) as died,
    (select count(*) from sluice.job_batch where parent_id = p_id) as open,
    (select count(*) from sluice.job_batch_history where parent_id = p_id) as closed,
    (select count(*) from sluice.job_batch_history where parent_id = p_id and outcome <> 'succeeded') as bad,
    (select count(*) from sluice.job_batch_history where parent_id = p_id and died > 0) as fallen
  into n;
  -- The members of which nothing is left have succeeded, or were removed by hand. As a rule the counter of successes says
  -- the first of all of them. Since the batch was opened, history may have got millions of rows.
  done := n.jobs - n.live - n.dead;
  if done > 0 and done + n.closed - n.bad <> b.succeeded then
    if p_completed is null or p_seen is distinct from b.touched_at then
      -- Touched, so that others leave it alone for a while.
      update sluice.job_batch set total = total + n.added, touched_at = clock_timestamp() where id = p_id
      returning touched_at into b.touched_at;
      return jsonb_build_array(jsonb_build_object('event', 'unclear', 'batchId', p_id, 'seen', b.touched_at, 'gone', done,
        'fromMs', floor(1000 * extract(epoch from greatest(b.opened_at,
          b.touched_at - (p_keep_days + 2) * interval '1 day'))),
        'untilMs', ceil(1000 * extract(epoch from b.touched_at))));
    end if;
    done := p_completed;
  end if;
  if b.opened_at < clock_timestamp() - p_keep_days * interval '1 day' then
    done := greatest(done, least(b.succeeded, n.jobs - n.live - n.dead));
  end if;
  update sluice.job_batch
  set total = n.jobs + n.open + n.closed, succeeded = done + n.closed - n.bad,
    failed = greatest(n.jobs - n.live - done, n.dead) + n.bad, died = greatest(died, n.died + n.fallen),
    touched_at = clock_timestamp()
  where id = p_id;
  select b.total + n.added <> j.total or b.succeeded <> j.succeeded or b.failed <> j.failed as wrong, j.total, j.succeeded, j.failed
  into n
  from sluice.job_batch j
  where j.id = p_id;
  if n.wrong then
    news := jsonb_build_array(jsonb_build_object('event', 'mended', 'batchId', p_id, 'total', n.total,
      'succeeded', n.succeeded, 'failed', n.failed));
  end if;
  return news || sluice.settle_job_batch_and_above(p_id);
end
$$;

-- How many members of a batch ended with success in a span of time. History has no index on ids: it is read along its
-- times, and whoever asks says how much of it.
create or replace function sluice.count_completed_members(p_id bigint, p_from timestamptz, p_to timestamptz) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  members bigint[] := array(
    select m.id from sluice.job_batch_addition a cross join lateral unnest(a.job_ids) m(id) where a.batch_id = p_id);
begin
  return (select count(*) from sluice.job_history h
    where h.finished_at >= p_from and h.finished_at < p_to and h.id = any(members));
end
$$;

revoke all on function
  sluice.open_job_batch(text),
  sluice.seal_job_batch(bigint),
  sluice.batch_members_ended(jsonb),
  sluice.lock_job_batch(bigint),
  sluice.cancel_job_batch(bigint, text),
  sluice.batch_members_back(jsonb),
  sluice.mend_job_batch(bigint, integer, timestamptz, bigint)
  from public;
