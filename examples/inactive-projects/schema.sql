create table projects (
  id bigint generated always as identity primary key,
  name text not null,
  owner_email text not null,
  last_activity_at timestamptz not null,
  warned_at timestamptz
);
