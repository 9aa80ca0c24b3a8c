create table todos (
  id bigint generated always as identity primary key,
  user_id bigint not null,
  state text not null check (state in ('pending', 'done')),
  updated_at timestamptz not null
);

-- For the page that shows a user's todos.
create index on todos (user_id, id) where state = 'done';

create table deletion_requests (
  id bigint generated always as identity primary key,
  user_id bigint not null,
  operation_id uuid not null,
  requested_at timestamptz not null default now()
);
