-- The ways in for jobs.

-- The one way in: a JSON object, or an array of them, as text. See docs/reference/sql.md for the fields.
create or replace function sluice.enqueue(
  jobs text, notify boolean default false, checked boolean default false, alone boolean default false
)
returns table (at integer, id bigint, duplicate boolean)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  given jsonb := jobs::jsonb;
  problem text;
  items sluice.new_job[];
  won bigint[];
  found bigint[];
  queues text[];
begin
  if jsonb_typeof(given) = 'object' then
    given := jsonb_build_array(given);
  end if;
  if jsonb_typeof(given) <> 'array' then
    raise exception 'sluice.enqueue takes a JSON object or an array of objects' using errcode = '22023';
  end if;
  if not checked then
    select sluice.enqueue_problem(e.value) into problem
    from jsonb_array_elements(given) e
    where sluice.enqueue_problem(e.value) is not null
    limit 1;
    if problem is null then
      select format('"%s" needs a "%s" of its own, because its definition computes one in code', c.name, n.field)
      into problem
      from jsonb_array_elements(given) e
      join sluice.job_class c on c.name = e.value ->> 'job'
      cross join jsonb_array_elements_text(coalesce(c.defaults -> 'needs', '[]')) n(field)
      where not e.value ? n.field
      limit 1;
    end if;
    if problem is not null then
      raise exception 'sluice.enqueue: %', problem using errcode = '22023';
    end if;
  end if;

  insert into sluice.job_class (name)
  select distinct e.value ->> 'job'
  from jsonb_array_elements(given) e
  where not exists (select from sluice.job_class c where c.name = e.value ->> 'job')
  order by 1
  on conflict do nothing;
  insert into sluice.queue (name)
  select distinct n.name
  from jsonb_array_elements(given) e
  join sluice.job_class c on c.name = e.value ->> 'job'
  cross join lateral (select coalesce(e.value ->> 'queue', c.defaults ->> 'queue', 'default') as name) n
  where not exists (select from sluice.queue q where q.name = n.name)
  order by 1
  on conflict do nothing;

  if position('"unique"' in jobs) = 0 and position('"key"' in jobs) = 0 and position('"batch"' in jobs) = 0
     and not exists (select from sluice.job_class c
                     where c.defaults ? 'unique'
                       and c.name in (select e.value ->> 'job' from jsonb_array_elements(given) e)) then
    return query
      with inserted as (
        insert into sluice.job as j (run_at, enqueued_at, queue_id, class_id, state, priority, args, tags)
        select coalesce(t.run_at, t.now), case when t.run_at <> t.now then t.now end, q.id, c.id,
          case when t.run_at > t.now then 2 else 0 end,
          sluice.job_priority(coalesce(g.priority, c.defaults ->> 'priority')), coalesce(g.args, '{}'), g.tags
        from rows from (jsonb_to_recordset(given) as
          (job text, queue text, args jsonb, priority text, "runAt" timestamptz, "delayMs" float8, tags text[]))
          with ordinality g(job, queue, args, priority, run_at, delay_ms, tags, n)
        join sluice.job_class c on c.name = g.job
        join sluice.queue q on q.name = coalesce(g.queue, c.defaults ->> 'queue', 'default')
        cross join lateral (select statement_timestamp() as now, coalesce(g.run_at,
          statement_timestamp() + g.delay_ms * interval '1 millisecond') as run_at) t
        order by g.n
        returning j.id
      )
      select (row_number() over (order by i.id) - 1)::integer, i.id, false
      from inserted i;
  else
    -- Ids are given in the order of the list: the subquery is sorted before any is taken.
    select array_agg(row(g.n - 1, nextval('sluice.job_id_seq'), g.class_id, g.queue_id, g.args, g.tags, g.now, g.run_at,
        g.priority, g.unique_key, g.until, g.expires_at,
        case when g.unique_key is not null then md5(g.class_id || ':' || g.unique_key)::uuid end,
        g.key, g.key_limit, hashtextextended(g.key, 0), g.batch_id)::sluice.new_job order by g.n)
    into items
    from (
      select g.n, c.id as class_id, q.id as queue_id, coalesce(g.args, '{}') as args, g.tags, t.now,
        coalesce(t.run_at, t.now) as run_at, sluice.job_priority(coalesce(g.priority, c.defaults ->> 'priority')) as priority,
        case when u.spec is not null then coalesce(u.spec ->> 'key', coalesce(g.args, '{}')::text) end as unique_key,
        case u.spec ->> 'until' when 'start' then 0 else 1 end as until,
        coalesce(coalesce(t.run_at, t.now) + (u.spec ->> 'forMs')::float8 * interval '1 millisecond', 'infinity')
          as expires_at,
        g.key, g.key_limit, g.batch_id
      from (select n, x ->> 'job' as job, x ->> 'queue' as queue, x -> 'args' as args, x ->> 'priority' as priority,
              (x ->> 'runAt')::timestamptz as run_at, (x ->> 'delayMs')::float8 as delay_ms,
              case when x ? 'tags' then array(select jsonb_array_elements_text(x -> 'tags')) end as tags,
              x -> 'unique' as uniq, x #>> '{key,name}' as key, (x #>> '{key,limit}')::smallint as key_limit,
              (x #>> '{batch,id}')::bigint as batch_id
            from jsonb_array_elements(given) with ordinality e(x, n)) g
      join sluice.job_class c on c.name = g.job
      join sluice.queue q on q.name = coalesce(g.queue, c.defaults ->> 'queue', 'default')
      cross join lateral (select nullif(coalesce(g.uniq, c.defaults -> 'unique'), 'null'::jsonb) as spec) u
      cross join lateral (select statement_timestamp() as now, coalesce(g.run_at,
        statement_timestamp() + g.delay_ms * interval '1 millisecond') as run_at) t
      order by g.n
      offset 0
    ) g;
    -- A competing lock may come and go between two looks; each look is a statement with a snapshot of its own.
    for round in 1 .. 20 loop
      with taken_over as (
        update sluice.job_lock l
        set job_id = g.id, class_id = g.class_id, until = g.until, expires_at = g.expires_at, key = g.unique_key
        from (select distinct on (g.hash) g.* from unnest(items) g
              where g.hash is not null and found[g.at + 1] is null order by g.hash, g.at) g
        where l.hash = g.hash and l.expires_at <= clock_timestamp()
        returning l.job_id
      ), made as (
        insert into sluice.job_lock as l (hash, job_id, class_id, until, expires_at, key)
        select distinct on (g.hash) g.hash, g.id, g.class_id, g.until, g.expires_at, g.unique_key
        from unnest(items) g
        where g.hash is not null and found[g.at + 1] is null
          and not exists (select from sluice.job_lock l where l.hash = g.hash)
        order by g.hash, g.at
        on conflict (hash) do nothing
        returning l.job_id
      )
      select array_agg(job_id) into won from (select job_id from taken_over union all select job_id from made) w;
      -- What this transaction changes is for the job that has the key. If that one frees it when it starts, it must not
      -- start before this transaction has ended: see sluice.may_start. A call that is the whole transaction ends now.
      with held as materialized (
        select l.hash, l.job_id
        from sluice.job_lock l
        where not alone and l.until = 0
          and l.hash = any(array(select g.hash from unnest(items) g
                                 where g.hash is not null and found[g.at + 1] is null
                                 and not (g.id = any(coalesce(won, '{}')))))
        for key share
      )
      select array_agg(case when g.hash is null or g.id = any(won) then g.id
        else coalesce(found[g.at + 1], h.job_id, case when alone or l.until = 1 then l.job_id end) end order by g.at)
      into found
      from unnest(items) g
      left join sluice.job_lock l on l.hash = g.hash
      left join held h on h.hash = g.hash;
      exit when array_position(found, null) is null;
      if round = 20 then
        raise exception 'sluice.enqueue: a unique key changes hands too fast' using errcode = '40001';
      end if;
    end loop;
    insert into sluice.job (id, run_at, enqueued_at, queue_id, class_id, state, priority, args, tags, unique_hash, key,
      key_hash, key_limit, batch_id)
    select g.id, g.run_at, case when g.run_at <> g.now then g.now end, g.queue_id, g.class_id,
      case when g.key_hash is null then 0 else 1 end + case when g.run_at > g.now then 2 else 0 end,
      g.priority, g.args, g.tags, g.hash, g.key, g.key_hash, g.key_limit, g.batch_id
    from unnest(items) g
    where found[g.at + 1] = g.id
    order by g.at;
    if position('"batch"' in jobs) > 0 then
      perform sluice.batch_members_added(given, array_agg(g.at), array_agg(g.id))
      from unnest(items) g
      where found[g.at + 1] = g.id and g.batch_id is not null
      having count(*) > 0;
    end if;
    return query select g.at, found[g.at + 1], found[g.at + 1] <> g.id from unnest(items) g order by g.at;
  end if;
  if notify then
    select array_agg(distinct coalesce(e.value ->> 'queue', c.defaults ->> 'queue', 'default'))
    into queues
    from jsonb_array_elements(given) e
    join sluice.job_class c on c.name = e.value ->> 'job';
    perform pg_notify('sluice_jobs', sluice.hint(queues));
  end if;
end
$$;

-- What is wrong with one object given to enqueue; null: nothing.
create or replace function sluice.enqueue_problem(x jsonb) returns text
language sql stable
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
  select case
    when jsonb_typeof(x) <> 'object' then 'each job must be a JSON object'
    when jsonb_typeof(x -> 'job') is distinct from 'string' or x ->> 'job' !~ '^[A-Za-z][A-Za-z0-9._-]{0,99}$'
      then '"job" must be the name of a job: a letter, then up to 99 letters, digits, ".", "_" or "-"'
    when x ? 'queue' and (jsonb_typeof(x -> 'queue') <> 'string' or x ->> 'queue' !~ '^[A-Za-z][A-Za-z0-9._-]{0,99}$')
      then '"queue" must be the name of a queue: a letter, then up to 99 letters, digits, ".", "_" or "-"'
    when jsonb_typeof(x -> 'args') = 'null' then '"args" must not be null; leave the field out where there are none'
    when x ? 'args' and octet_length((x -> 'args')::text) > 262144 then '"args" take more than 256 KiB'
    -- The handler gets what JavaScript makes of a number. An id whose last digits are lost is somebody else's.
    when exists (select
                 from jsonb_path_query(x -> 'args', 'strict $.** ? (@ > 9007199254740991 || @ < -9007199254740991)') n
                 cross join lateral (select (n #>> '{}')::numeric as given) g
                 where case when abs(g.given) > 1.7976931348623157e308 then true
                         else g.given::float8::text::numeric <> g.given end)
      then '"args" have a number of which JavaScript would lose digits: give it as text'
    when x ? 'priority' and sluice.job_priority(x ->> 'priority') is null then '"priority" must be high, normal or low'
    when x ? 'delayMs' and (jsonb_typeof(x -> 'delayMs') <> 'number' or (x ->> 'delayMs')::numeric not between 0 and 315576000000)
      then '"delayMs" must be a number of milliseconds, ten years at most'
    when x ? 'delayMs' and x ? 'runAt' then 'give "delayMs" or "runAt", not both'
    when x ? 'runAt' and jsonb_typeof(x -> 'runAt') <> 'string' then '"runAt" must be a time as text'
    when x ? 'runAt' and not isfinite((x ->> 'runAt')::timestamptz) then '"runAt" must be a moment, not infinity'
    when x ? 'tags' and (jsonb_typeof(x -> 'tags') <> 'array' or jsonb_array_length(x -> 'tags') > 20
        or exists (select from jsonb_array_elements(x -> 'tags') t
                   where jsonb_typeof(t.value) <> 'string' or length(t.value #>> '{}') not between 1 and 100))
      then '"tags" must be an array of up to 20 texts of 1 to 100 characters'
    when x ? 'unique' and jsonb_typeof(x -> 'unique') not in ('object', 'null') then '"unique" must be an object'
    when x #> '{unique,key}' is not null and (jsonb_typeof(x #> '{unique,key}') <> 'string' or length(x #>> '{unique,key}') not between 1 and 1000)
      then '"unique.key" must be a text of 1 to 1,000 characters'
    when x #> '{unique,until}' is not null and x #>> '{unique,until}' not in ('start', 'success')
      then '"unique.until" must be start or success'
    when x #> '{unique,forMs}' is not null and (jsonb_typeof(x #> '{unique,forMs}') <> 'number'
        or (x #>> '{unique,forMs}')::numeric not between 1 and 315576000000)
      then '"unique.forMs" must be a number of milliseconds from 1 on, ten years at most'
    when x ? 'key' and (jsonb_typeof(x -> 'key') <> 'object' or jsonb_typeof(x #> '{key,name}') is distinct from 'string'
        or length(x #>> '{key,name}') not between 1 and 1000 or jsonb_typeof(x #> '{key,limit}') is distinct from 'number')
      then '"key" must be an object with a name of 1 to 1,000 characters and a limit from 1 to 10,000'
    when x ? 'key' and ((x #>> '{key,limit}')::numeric not between 1 and 10000
        or (x #>> '{key,limit}')::numeric % 1 <> 0)
      then '"key" must be an object with a name of 1 to 1,000 characters and a limit from 1 to 10,000'
    when x ? 'batch' and (jsonb_typeof(x -> 'batch') <> 'object'
        or coalesce(x #>> '{batch,id}', '') !~ '^[1-9][0-9]{0,17}$'
        or coalesce(x #>> '{batch,member}', '1') !~ '^[1-9][0-9]{0,17}$')
      then '"batch" must be an object with the id of a batch of jobs, and the id of the member that adds to it, if one does'
    else (select 'there is no field "' || left(f.name, 100) || '"'
          from (
            select k from jsonb_object_keys(x) k
            where k not in ('job', 'queue', 'args', 'priority', 'delayMs', 'runAt', 'tags', 'unique', 'key', 'batch')
            union all
            select 'unique.' || k
            from jsonb_object_keys(case jsonb_typeof(x -> 'unique') when 'object' then x -> 'unique' else '{}' end) k
            where k not in ('key', 'forMs', 'until')
            union all
            select 'key.' || k
            from jsonb_object_keys(case jsonb_typeof(x -> 'key') when 'object' then x -> 'key' else '{}' end) k
            where k not in ('name', 'limit')
            union all
            select 'batch.' || k
            from jsonb_object_keys(case jsonb_typeof(x -> 'batch') when 'object' then x -> 'batch' else '{}' end) k
            where k not in ('id', 'member')
          ) f(name)
          limit 1)
  end
$$;

create or replace function sluice.job_priority(name text) returns smallint
language sql immutable parallel safe
as $$ select case coalesce(name, 'normal') when 'high' then 0 when 'normal' then 1 when 'low' then 2 end::smallint $$;

-- What a notification says of new jobs: an id of its own, and the names of their queues where these fit in. Workers that
-- do not serve these queues stay asleep. See src/jobs/hints.ts.
create or replace function sluice.hint(queues text[]) returns text
language sql volatile
as $$
  select case when octet_length(h.text) < 8000 then h.text else json_build_object('id', h.id)::text end
  from (
    select x.id, json_build_object('id', x.id, 'queues', queues)::text as text
    from (select pg_current_xact_id()::text as id) x
  ) h
$$;

-- The ids of job classes and queues, which are made if they are not there.
create or replace function sluice.enqueue_names(p_classes text[], p_queues text[])
returns table (kind text, name text, id integer)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  insert into sluice.job_class (name)
  select n from unnest(p_classes) n where not exists (select from sluice.job_class c where c.name = n) order by n
  on conflict do nothing;
  insert into sluice.queue (name)
  select n from unnest(p_queues) n where not exists (select from sluice.queue q where q.name = n) order by n
  on conflict do nothing;
  return query
    select 'class', c.name, c.id from sluice.job_class c where c.name = any(p_classes)
    union all
    select 'queue', q.name, q.id from sluice.queue q where q.name = any(p_queues);
end
$$;

-- The short way in, for jobs that are ready at once and have no keys: names of classes and queues, for each job the
-- places of its own among them, and args as one JSON array. Ids would be cheaper, but after a restore those that a
-- process remembers may belong to other names. Gives the new ids in the order of the args, as one text: rows would cost
-- both sides more than the jobs.
create or replace function sluice.enqueue_plain(
  p_classes text[], p_queues text[], p_class_places integer[], p_queue_places integer[], p_priorities smallint[],
  p_args text, p_notify boolean, out ids text
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  class_ids integer[];
  queue_ids integer[];
begin
  -- One alone is what somebody waits for: its plan has nothing to start but two looks and the insert.
  if cardinality(p_class_places) = 1 then
    insert into sluice.job as j (run_at, queue_id, class_id, state, priority, args)
    select statement_timestamp(), q.id, c.id, 0, p_priorities[1], p_args::jsonb -> 0
    from sluice.job_class c
    cross join sluice.queue q
    where c.name = p_classes[1] and q.name = p_queues[1]
    returning j.id into ids;
  end if;
  if ids is null then
    for round in 1 .. 2 loop
      select array(select (select c.id from sluice.job_class c where c.name = n) from unnest(p_classes) n),
        array(select (select q.id from sluice.queue q where q.name = n) from unnest(p_queues) n)
      into class_ids, queue_ids;
      exit when array_position(class_ids, null) is null and array_position(queue_ids, null) is null;
      perform sluice.enqueue_names(p_classes, p_queues);
    end loop;
    with inserted as (
      insert into sluice.job as j (run_at, queue_id, class_id, state, priority, args)
      select statement_timestamp(), queue_ids[g.queue_place], class_ids[g.class_place], 0, g.priority, g.args
      from rows from (unnest(p_class_places), unnest(p_queue_places), unnest(p_priorities),
        jsonb_array_elements(p_args::jsonb)) with ordinality g(class_place, queue_place, priority, args, n)
      order by g.n
      returning j.id
    )
    select string_agg(i.id::text, ',' order by i.id) into ids from inserted i;
  end if;
  if p_notify then
    perform pg_notify('sluice_jobs', sluice.hint(p_queues));
  end if;
end
$$;

revoke all on function
  sluice.enqueue(text, boolean, boolean, boolean),
  sluice.enqueue_names(text[], text[]),
  sluice.enqueue_plain(text[], text[], integer[], integer[], smallint[], text, boolean)
  from public;
