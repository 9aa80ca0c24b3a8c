-- Inboxes: how messages come in.

-- The id of an inbox, which is made if it is not there.
create or replace function sluice.inbox_id(p_name text) returns integer
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
create or replace function sluice.inbox_receive(
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

revoke all on function
  sluice.inbox_id(text),
  sluice.inbox_receive(text[], uuid[], uuid[], bigint[], text[], text, text, boolean)
  from public;
