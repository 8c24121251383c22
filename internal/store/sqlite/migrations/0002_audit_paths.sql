-- The files an audit line is about: which sandbox put what there. Names are raw
-- bytes.
CREATE TABLE audit_paths (
    project TEXT    NOT NULL, -- absolute directory
    path    BLOB    NOT NULL, -- relative to it
    seq     INTEGER NOT NULL REFERENCES audit (seq),
    PRIMARY KEY (project, path, seq)
) STRICT, WITHOUT ROWID;
