create table databases (
  id bigint generated always as identity primary key,
  name text not null,
  state text not null default 'pending' check (state in ('pending', 'ready')),
  -- Where it was made.
  host text,
  updated_at timestamptz not null default now()
);

-- For the reconciler: holds pending ones alone, in the order in which it walks, so it stays small.
create index databases_pending_idx on databases (id) where state = 'pending';
