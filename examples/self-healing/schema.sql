create table accounts (
  id bigint generated always as identity primary key,
  state text not null default 'pending' check (state in ('pending', 'active')),
  credits integer not null default 0,
  created_at timestamptz not null default now()
);

-- For the reconciler: holds pending ones alone, so it stays small.
create index accounts_pending_idx on accounts (created_at) where state = 'pending';
