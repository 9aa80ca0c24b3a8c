-- The schema and the record of what was applied to it.

do $$
begin
  -- "if not exists" would still ask for the right to create schemas in this database.
  if to_regnamespace('sluice') is null then
    create schema sluice;
  end if;
end
$$;

create table sluice.migration (
  version    integer primary key,
  name       text not null,
  -- Workers that do not know this migration may go on working.
  compatible boolean not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- The function files that make up the functions of this schema, and the release that put them here: an older one must
-- not put its own texts back.
create table sluice.function_file (
  name       text primary key,
  hash       text not null,
  release    text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- One row, which is only ever locked, by those who create partitions. An advisory lock would do the same, but any login
-- of the server can take one, and then nobody could create any: in the end, nothing could be written to history.
create table sluice.partition_turn (
  id boolean primary key default true check (id)
);
insert into sluice.partition_turn default values;
