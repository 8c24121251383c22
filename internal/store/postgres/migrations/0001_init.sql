-- The tables of the SQLite store, in a schema of this daemon's own. Ids and
-- names compare byte by byte (COLLATE "C"), whatever the database's language.
CREATE TABLE sandboxes (
    id              text   COLLATE "C" PRIMARY KEY,
    name            text   COLLATE "C" NOT NULL,
    status          text   NOT NULL,
    owner           text   NOT NULL,
    path            text   NOT NULL, -- workspace source, '' for none
    idempotency_key text   NOT NULL, -- '' for none
    id_base         bigint NOT NULL, -- 0 for none
    created_at      bigint NOT NULL, -- Unix nanoseconds
    version         bigint NOT NULL,
    record          text   NOT NULL  -- not jsonb: that refuses \u0000 in a string
);

CREATE UNIQUE INDEX live_name    ON sandboxes (name)    WHERE status <> 'deleted';
CREATE UNIQUE INDEX live_id_base ON sandboxes (id_base) WHERE status <> 'deleted' AND id_base <> 0;
CREATE UNIQUE INDEX used_key     ON sandboxes (idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX live_newest ON sandboxes (created_at, id) WHERE status <> 'deleted';
CREATE INDEX live_path   ON sandboxes (path)           WHERE status <> 'deleted' AND path <> '';

-- Audit lines outlive their sandbox, so there is no foreign key.
CREATE TABLE audit (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          bigint NOT NULL, -- Unix nanoseconds
    sandbox     text   COLLATE "C" NOT NULL, -- '' for a line about the daemon
    name        text   NOT NULL,
    event       text   NOT NULL,
    from_status text   NOT NULL,
    to_status   text   NOT NULL,
    actor       text   NOT NULL,
    detail      text   NOT NULL
);

CREATE INDEX audit_of ON audit (sandbox, seq);
