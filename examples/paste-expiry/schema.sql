-- One row per object in the store. Every upload has a name of its own, which is never used again.
create table contents (
  object_key  text primary key,
  hash        text not null,
  ref_count   integer not null check (ref_count >= 0),
  status      text not null default 'LIVE' check (status in ('LIVE', 'DELETION_IN_PROGRESS')),
  claimed_at  timestamptz,
  claimed_by  text,
  claim_nonce uuid
);

-- Equal content is shared while it lives. One that is being removed does not count.
create unique index contents_live_idx on contents (hash) where status = 'LIVE';
create index contents_unused_idx on contents (object_key) where status = 'LIVE' and ref_count = 0;

create table pastes (
  short_code            text primary key,
  object_key            text not null references contents,
  expires_at            timestamptz not null,
  status                text not null default 'NOT_EXPIRED' check (status in ('NOT_EXPIRED', 'DELETION_IN_PROGRESS')),
  deletion_initiated_at timestamptz,
  deletion_worker       text,
  deletion_nonce        uuid
);

create index pastes_due_idx on pastes (expires_at, short_code) where status = 'NOT_EXPIRED';
create index pastes_object_idx on pastes (object_key);
