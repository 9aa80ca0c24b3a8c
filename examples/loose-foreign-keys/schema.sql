create table projects (id bigint generated always as identity primary key);

-- No foreign keys: a cascade would delete all children in the transaction of the user who deletes the project.
create table issues (id bigint generated always as identity primary key, project_id bigint not null);
create index on issues (project_id);
create table merge_requests (id bigint generated always as identity primary key, target_project_id bigint not null);
create index on merge_requests (target_project_id);

-- What was deleted. Done records go with their partition, which is dropped, never deleted from.
create table deleted_projects (
  partition  integer not null default 1,
  id         bigserial,
  project_id bigint not null,
  status     text not null default 'pending' check (status in ('pending', 'processed')),
  primary key (partition, id)
) partition by list (partition);
create table deleted_projects_1 partition of deleted_projects for values in (1);
create table deleted_projects_2 partition of deleted_projects for values in (2);

-- The walk steps on these alone: most records are done, and wait for their partition to go.
create index deleted_projects_pending_idx on deleted_projects (partition, id) where status = 'pending';

create function record_deleted_projects() returns trigger language plpgsql security definer as $$
begin
  insert into deleted_projects (project_id) select id from gone;
  return null;
end
$$;
create trigger record_deleted_projects after delete on projects
  referencing old table as gone for each statement execute function record_deleted_projects();
