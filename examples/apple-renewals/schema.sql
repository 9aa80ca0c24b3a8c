create table creator_subscriptions (
  id bigint generated always as identity primary key,
  original_transaction_id text not null,
  renewed_until timestamptz not null,
  -- No unique constraint: that one notification makes one row is the inbox's doing, and the test shows it.
  created_at timestamptz not null default now()
);
