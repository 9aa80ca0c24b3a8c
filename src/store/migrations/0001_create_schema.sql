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
