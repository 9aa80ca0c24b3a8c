-- How batches are cut off an operation: by all rows, or by those in scope alone.

alter table sluice.operation
  add column carve text not null default 'dense' check (carve in ('dense', 'sparse')),
  -- Rows of the next batch, while cutting batch_size of them off takes too long.
  add column carve_size integer check (carve_size > 0);
