-- sluice: compatible
-- Transactions in a second of a worker that works on operations: to its peers they are not the application's.
alter table sluice.worker
  add column transactions real not null default 0;
