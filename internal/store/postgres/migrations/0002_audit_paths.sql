-- The files an audit line is about: which sandbox put what there. Names are raw
-- bytes.
CREATE TABLE audit_paths (
    project text   COLLATE "C" NOT NULL, -- absolute directory
    path    bytea  NOT NULL, -- relative to it
    seq     bigint NOT NULL REFERENCES audit (seq),
    PRIMARY KEY (project, path, seq)
);
