-- Sizes that the worker finds while an operation runs.

alter table sluice.operation
  -- Whether batch_size is only the most that a batch may have; carve_size says how many rows the next one gets.
  add column tunes_batches boolean not null default false,
  -- Rows of a sub-batch, as far as is known; null: always sub_batch_size, which else is the most.
  add column tuned_size integer check (tuned_size > 0);
