-- The tables of evidence: machines and people, the ledger, bundles with their facts, lines of machines.

CREATE TABLE machines (
    key bytea PRIMARY KEY CHECK (octet_length(key) = 32),
    machine text NOT NULL,
    at_ns bigint NOT NULL,
    by_whom text NOT NULL
);

CREATE TABLE codes (
    hash text PRIMARY KEY,
    until_ns bigint NOT NULL,
    by_whom text NOT NULL
);

CREATE TABLE tokens (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    role text NOT NULL,
    hash text NOT NULL UNIQUE,
    at_ns bigint NOT NULL,
    by_whom text NOT NULL,
    revoked_ns bigint
);
CREATE UNIQUE INDEX tokens_in_force ON tokens (name) WHERE revoked_ns IS NULL;

-- The audit log: who did what, when and why.
CREATE TABLE acts (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ns bigint NOT NULL,
    who text NOT NULL,
    what text NOT NULL,
    subject text NOT NULL,
    why text NOT NULL
);

-- The ledger: its one row is locked while leaves are appended.
CREATE TABLE ledger (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    origin text NOT NULL,
    size bigint NOT NULL DEFAULT 0,
    checkpoint text
);

-- The public keys of the programs that sign its checkpoints.
CREATE TABLE ledger_keys (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key bytea NOT NULL UNIQUE CHECK (octet_length(key) = 32)
);

-- Its tree, as tiles of up to 256 hashes.
CREATE TABLE ledger_tiles (
    level smallint NOT NULL,
    place bigint NOT NULL,
    hashes bytea NOT NULL,
    PRIMARY KEY (level, place)
);

-- One row per bundle, which stays when the bytes go: its leaf, and what a scorecard needs of it. `facts` is written and
-- read by `facts.rs`; `month` names the partition of the bytes, as in 202611.
CREATE TABLE leaves (
    place bigint PRIMARY KEY,
    task uuid NOT NULL UNIQUE,
    created_ns bigint NOT NULL,
    sha256 bytea NOT NULL,
    signer bytea NOT NULL,
    size integer NOT NULL,
    month integer NOT NULL,
    facts bytea NOT NULL,
    mode text,
    role text,
    model text,
    agent text,
    specialist text,
    suite text
);

-- The bytes of bundles, by their hash, in the month in which they arrived.
CREATE TABLE bundles (
    month integer NOT NULL,
    sha256 bytea NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (month, sha256)
) PARTITION BY LIST (month);
CREATE TABLE bundles_other PARTITION OF bundles DEFAULT;

-- The lines of the machines' own logs, in the month in which they arrived.
CREATE TABLE machine_lines (
    month integer NOT NULL,
    writer bytea NOT NULL,
    log text NOT NULL,
    number bigint NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (month, writer, log, number)
) PARTITION BY LIST (month);
CREATE TABLE machine_lines_other PARTITION OF machine_lines DEFAULT;

-- Returns the month of a moment, as in 202611.
CREATE FUNCTION roleos_month_number(moment timestamptz) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYYMM')::integer
$$;

-- Makes the partitions of a month where there are none. A month of which rows stand in the partition for the rest already,
-- because no program ran when it began, stays there.
CREATE FUNCTION roleos_partitions(moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    wanted integer := roleos_month_number(moment);
    parent text;
BEGIN
    BEGIN
        PERFORM roleos_month('log_lines', moment);
    EXCEPTION WHEN check_violation THEN
        NULL;
    END;
    FOREACH parent IN ARRAY ARRAY['bundles', 'machine_lines'] LOOP
        BEGIN
            IF to_regclass(parent || '_' || wanted) IS NULL THEN
                EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES IN (%s)',
                    parent || '_' || wanted, parent, wanted);
            END IF;
        EXCEPTION WHEN check_violation THEN
            NULL;
        END;
    END LOOP;
END
$$;
