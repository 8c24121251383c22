-- A record is one JSON document; the columns beside it are what is searched,
-- ordered or kept unique. "Live" is status <> 'deleted', spelled the same way
-- everywhere so that the planner can use the partial indexes.
CREATE TABLE sandboxes (
    id              TEXT    PRIMARY KEY,
    name            TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    owner           TEXT    NOT NULL,
    path            TEXT    NOT NULL, -- workspace source, '' for none
    idempotency_key TEXT    NOT NULL, -- '' for none
    id_base         INTEGER NOT NULL, -- 0 for none
    created_at      INTEGER NOT NULL, -- Unix nanoseconds
    version         INTEGER NOT NULL,
    record          TEXT    NOT NULL
) STRICT;

-- Tombstones keep their id and their key for ever, and nothing else.
CREATE UNIQUE INDEX live_name    ON sandboxes (name)    WHERE status <> 'deleted';
CREATE UNIQUE INDEX live_id_base ON sandboxes (id_base) WHERE status <> 'deleted' AND id_base <> 0;
CREATE UNIQUE INDEX used_key     ON sandboxes (idempotency_key) WHERE idempotency_key <> '';

-- Lists read newest first. Owner and status have no index of their own: live
-- sandboxes are few, their values fewer, and every index is paid for by writes.
CREATE INDEX live_newest ON sandboxes (created_at, id) WHERE status <> 'deleted';
CREATE INDEX live_path   ON sandboxes (path)           WHERE status <> 'deleted' AND path <> '';

-- Audit lines outlive their sandbox, so there is no foreign key.
-- AUTOINCREMENT: a seq is never given twice, even if the newest line is removed.
CREATE TABLE audit (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    at          INTEGER NOT NULL, -- Unix nanoseconds
    sandbox     TEXT    NOT NULL, -- '' for a line about the daemon
    name        TEXT    NOT NULL,
    event       TEXT    NOT NULL,
    from_status TEXT    NOT NULL,
    to_status   TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    detail      TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_of ON audit (sandbox, seq);
