-- The tables of store/server/contract.py, the manifests, and vectors.
-- Names of segments ("000007-0") are numbers here; words of any length are looked up by hash.
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

CREATE TABLE generations (
    number bigint PRIMARY KEY,
    manifest bytea NOT NULL,
    made timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE head (one boolean PRIMARY KEY DEFAULT true CHECK (one), number bigint NOT NULL);
-- Segments and vectors that have rows, also those that no manifest names yet.
CREATE TABLE segments (segment bigint PRIMARY KEY);

CREATE TABLE documents (
    segment bigint NOT NULL, number integer NOT NULL, id text NOT NULL, title text NOT NULL,
    meta text NOT NULL, PRIMARY KEY (segment, number)
);
CREATE INDEX ON documents USING hash (id);

CREATE TABLE texts (
    segment bigint NOT NULL, document text NOT NULL, text text NOT NULL, findings text NOT NULL,
    boxes bytea NOT NULL
);
CREATE INDEX ON texts USING hash (document);

CREATE TABLE chunks (
    segment bigint NOT NULL, ordinal integer NOT NULL, id text NOT NULL, document text NOT NULL,
    start integer NOT NULL, stop integer NOT NULL, own_end integer NOT NULL, kind text NOT NULL,
    locator text NOT NULL, title text NOT NULL, path text NOT NULL, page integer, parent text,
    searched integer NOT NULL, context text NOT NULL, facts text,
    PRIMARY KEY (segment, ordinal)
);
CREATE INDEX ON chunks USING hash (id);
CREATE INDEX ON chunks USING hash (document);
CREATE INDEX ON chunks USING hash (parent);

CREATE TABLE keys (
    segment bigint NOT NULL, key text NOT NULL, chunk text NOT NULL, document text NOT NULL
);
CREATE INDEX ON keys USING hash (key);
CREATE INDEX ON keys USING hash (document);

CREATE TABLE links (
    segment bigint NOT NULL, ordinal integer NOT NULL, document text NOT NULL,
    source text NOT NULL, relation text NOT NULL, target text NOT NULL, start integer NOT NULL,
    stop integer NOT NULL, PRIMARY KEY (segment, ordinal)
);
CREATE INDEX ON links USING hash (document);
CREATE INDEX ON links USING hash (source);
CREATE INDEX ON links USING hash (target);
CREATE INDEX ON links (relation);

CREATE TABLE blobs (
    segment bigint NOT NULL, name text NOT NULL, number integer NOT NULL, data bytea NOT NULL,
    PRIMARY KEY (segment, name, number)
);

CREATE TABLE models (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL,
    dimension integer NOT NULL, UNIQUE (name, dimension)
);
CREATE TABLE vectors (
    segment bigint NOT NULL, number integer NOT NULL, model integer NOT NULL,
    embedding public.halfvec NOT NULL, PRIMARY KEY (segment, number)
);
