create table submissions (
  id bigint generated always as identity primary key,
  title text not null,
  binary_path text not null,
  state text not null default 'pending'
    check (state in ('pending', 'validated', 'binary_uploaded', 'submitted', 'in_review', 'approved', 'rejected')),
  problem text,
  -- When it came into its state. Written by transitions alone: other changes of the row leave it as it is.
  state_changed_at timestamptz not null default now()
);

-- For the reconciler of the machine: holds what is under way, in the order in which it walks.
create index submissions_open_idx on submissions (id) where state not in ('approved', 'rejected');
