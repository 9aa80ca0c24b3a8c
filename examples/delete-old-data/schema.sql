create table data (
  id bigint generated always as identity primary key,
  created_at timestamptz not null
);

-- Without it, each run would read the whole table.
create index data_created_at_idx on data (created_at);
