-- Inboxes: what other systems send, each message once; and results of work that is done once per key.

create table sluice.inbox (
  id   integer generated always as identity primary key,
  name text not null unique
);

create sequence sluice.inbox_message_id_seq;

-- One narrow row per message, for as long as its key must stay taken. Not partitioned: a unique index over partitions
-- needs the day in it, and then a key could come in once on each of two days. Expired rows go in small batches.
-- States: 0 waiting, 1 processed, 2 failed (its job ended without success).
-- A message that comes again only reads this row: its handler may have it locked for long.
create table sluice.inbox_key (
  inbox_id     integer not null,
  state        smallint not null default 0 check (state in (0, 1, 2)),
  key_hash     uuid not null,
  payload_hash uuid not null,
  message_id   bigint not null,
  received_at  timestamptz not null,
  settled_at   timestamptz,
  expires_at   timestamptz not null,
  primary key (inbox_id, key_hash)
)
with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index inbox_key_open_idx on sluice.inbox_key (inbox_id, state, received_at, message_id) where state <> 1;
create index inbox_key_expires_at_idx on sluice.inbox_key (expires_at);

-- What was sent, dropped by the day.
create table sluice.inbox_message (
  id          bigint not null,
  inbox_id    integer not null,
  job_id      bigint not null,
  received_at timestamptz not null,
  key         text not null,
  payload     jsonb not null
) partition by range (received_at);
create index inbox_message_id_idx on sluice.inbox_message (id);

-- Payloads that came under a key which had come with another one.
create table sluice.inbox_difference (
  inbox_id     integer not null,
  key_hash     uuid not null,
  payload_hash uuid not null,
  received_at  timestamptz not null,
  payload      jsonb not null,
  primary key (inbox_id, key_hash, payload_hash)
);

-- What work that is done once has given. The row is there uncommitted while the work runs, so that others wait.
create table sluice.once_result (
  hash       uuid primary key,
  scope      text not null,
  key        text not null,
  result     jsonb,
  stored_at  timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
)
with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index once_result_expires_at_idx on sluice.once_result (expires_at);

create function sluice.create_inbox_partitions(days_ahead integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['inbox_message'], 1, least(greatest(days_ahead, 1), 60))
$$;

-- Drops the days that are older than the retention. A day with a message that waits stays, and so does for a time one
-- with a message that failed: its job may be taken up again.
create function sluice.drop_inbox_partitions(keep_days integer, keep_failed_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition('inbox_message', o.child)), 0)::integer
  from sluice.old_partitions('inbox_message', 1, keep_days) o
  where not exists (
    select from sluice.inbox b
    cross join (values (0::smallint), (2::smallint)) s(state)
    cross join lateral (
      select from sluice.inbox_key k
      where k.inbox_id = b.id and k.state = s.state and k.state <> 1
        and k.received_at >= o.day::timestamp at time zone 'UTC'
        and k.received_at < (o.day + 1)::timestamp at time zone 'UTC'
      limit 1) k
    where s.state = 0 or o.day + 1 >= (clock_timestamp() at time zone 'UTC')::date - greatest(keep_failed_days, 1))
$$;

-- The id of an inbox, which is made if it is not there.
create function sluice.inbox_id(p_name text) returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into sluice.inbox (name)
  select p_name where not exists (select from sluice.inbox b where b.name = p_name)
  on conflict do nothing;
  return (select b.id from sluice.inbox b where b.name = p_name);
end
$$;

-- Takes messages in: key, payload and the job that will process it, or the word that the key is taken. Each item of
-- "p_jobs" is a job as sluice.enqueue takes it, without its args. As in sluice.claim_jobs, only indexes are good here.
create function sluice.inbox_receive(
  p_inboxes text[], p_key_hashes uuid[], p_payload_hashes uuid[], p_keep_ms bigint[], p_keys text[],
  p_jobs text, p_payloads text, p_notify boolean
) returns table (at integer, id bigint, duplicate boolean, differs boolean)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  received timestamptz := clock_timestamp();
  inbox_ids integer[];
  won bigint[] := '{}';
  more bigint[];
  -- By position: the message of the key, the payload that it came with, and the message again where it is new.
  found bigint[];
  stored uuid[];
  fresh bigint[];
  jobs text;
  job_ids bigint[];
begin
  -- No worker has been there for a week to make a partition for today.
  if to_regclass('sluice.inbox_message_' || to_char(received at time zone 'UTC', 'YYYYMMDD')) is null then
    perform sluice.create_inbox_partitions(7);
  end if;
  -- By name each time: after a restore, ids that a process remembers may be those of other inboxes.
  inbox_ids := array(select (select b.id from sluice.inbox b where b.name = n) from unnest(p_inboxes) n);
  if array_position(inbox_ids, null) is not null then
    perform sluice.inbox_id(n) from (select distinct n from unnest(p_inboxes) n order by n) g;
    inbox_ids := array(select (select b.id from sluice.inbox b where b.name = n) from unnest(p_inboxes) n);
  end if;
  -- A key may expire between two looks; each look is a statement with a snapshot of its own.
  for round in 1 .. 20 loop
    -- In one order, so that two who take in the same keys cannot wait for each other.
    with made as (
      insert into sluice.inbox_key as k (inbox_id, key_hash, payload_hash, message_id, received_at, expires_at)
      select g.inbox_id, g.key_hash, g.payload_hash, nextval('sluice.inbox_message_id_seq'), received,
        received + g.keep_ms * interval '1 millisecond'
      from (
        select distinct on (g.inbox_id, g.key_hash) g.*
        from unnest(inbox_ids, p_key_hashes, p_payload_hashes, p_keep_ms) with ordinality
          g(inbox_id, key_hash, payload_hash, keep_ms, n)
        where not exists (select from sluice.inbox_key k where k.inbox_id = g.inbox_id and k.key_hash = g.key_hash)
        order by g.inbox_id, g.key_hash, g.n
      ) g
      on conflict do nothing
      returning k.message_id
    )
    select array_agg(message_id) into more from made;
    won := won || coalesce(more, '{}');
    select array_agg(l.message_id order by l.n), array_agg(l.payload_hash order by l.n),
      array_agg(case when l.nth = 1 and l.message_id = any(won) then l.message_id end order by l.n)
    into found, stored, fresh
    from (
      select g.n, k.message_id, k.payload_hash,
        row_number() over (partition by g.inbox_id, g.key_hash order by g.n) as nth
      from unnest(inbox_ids, p_key_hashes) with ordinality g(inbox_id, key_hash, n)
      left join sluice.inbox_key k on k.inbox_id = g.inbox_id and k.key_hash = g.key_hash
    ) l;
    exit when array_position(found, null) is null;
    if round = 20 then
      raise exception 'sluice.inbox_receive: a key changes hands too fast' using errcode = '40001';
    end if;
  end loop;

  if cardinality(won) > 0 then
    select jsonb_agg(g.job || jsonb_build_object('args',
        jsonb_build_object('id', g.id, 'key', g.key_hash, 'at', received)) order by g.n)::text
    into jobs
    from rows from (unnest(fresh), unnest(p_key_hashes), jsonb_array_elements(p_jobs::jsonb))
      with ordinality g(id, key_hash, job, n)
    where g.id is not null;
    select array_agg(e.id order by e.at) into job_ids from sluice.enqueue(jobs, p_notify, true) e;
    insert into sluice.inbox_message (id, inbox_id, job_id, received_at, key, payload)
    select g.id, g.inbox_id, job_ids[row_number() over (order by g.n)], received, g.key, g.payload
    from rows from (unnest(fresh), unnest(inbox_ids), unnest(p_keys), jsonb_array_elements(p_payloads::jsonb))
      with ordinality g(id, inbox_id, key, payload, n)
    where g.id is not null;
  end if;

  -- Kept for a person to look at, each once, and no more than one can look at.
  if stored <> p_payload_hashes then
    insert into sluice.inbox_difference (inbox_id, key_hash, payload_hash, received_at, payload)
    select g.inbox_id, g.key_hash, g.payload_hash, received, g.payload
    from rows from (unnest(inbox_ids), unnest(p_key_hashes), unnest(p_payload_hashes), unnest(stored),
      jsonb_array_elements(p_payloads::jsonb)) g(inbox_id, key_hash, payload_hash, stored, payload)
    where g.payload_hash <> g.stored
      and (select count(*) from (select from sluice.inbox_difference d
             where d.inbox_id = g.inbox_id and d.key_hash = g.key_hash limit 20) d) < 20
    order by g.inbox_id, g.key_hash, g.payload_hash
    on conflict do nothing;
  end if;

  return query
    select (g.n - 1)::integer, g.id, g.fresh is null, g.payload_hash <> g.stored
    from unnest(found, fresh, p_payload_hashes, stored) with ordinality g(id, fresh, payload_hash, stored, n)
    order by g.n;
end
$$;

revoke all on function sluice.create_inbox_partitions(integer) from public;
revoke all on function sluice.drop_inbox_partitions(integer, integer) from public;
revoke all on function sluice.inbox_id(text) from public;
revoke all on function
  sluice.inbox_receive(text[], uuid[], uuid[], bigint[], text[], text, text, boolean) from public;

select sluice.create_inbox_partitions(7);
