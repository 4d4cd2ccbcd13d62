-- The tables that routing shares: pointers, state, logs.

-- Small texts of which one is current: the registry, metrics, the selector, what was learned, exams.
CREATE TABLE documents (
    name text PRIMARY KEY,
    version bigint NOT NULL,
    body text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
);

-- Quota window, probes, halts and places under way of one role; the empty role is the window of all.
CREATE TABLE specialist_state (
    role text PRIMARY KEY,
    body text NOT NULL
) WITH (fillfactor = 50);

-- Append-only lines of every log. The id is a UUID of version 7 that the writer gave: a line that arrives twice stands
-- once, and the time in it decides the partition, so that a month is dropped as a whole.
CREATE TABLE log_lines (
    id uuid PRIMARY KEY,
    log text NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    role text,
    arrived_at timestamptz NOT NULL DEFAULT now(),
    line text NOT NULL
) PARTITION BY RANGE (id);
CREATE INDEX log_lines_log ON log_lines (log, number);
CREATE INDEX log_lines_role ON log_lines (log, role, number);
CREATE TABLE log_lines_other PARTITION OF log_lines DEFAULT;

-- Returns the least UUID of version 7 of a moment.
CREATE FUNCTION roleos_first_uuid(moment timestamptz) RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Makes the partition of a month of a table that is partitioned by UUIDs of version 7, where there is none.
CREATE FUNCTION roleos_month(parent text, moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first_day timestamptz := date_trunc('month', moment AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
    next_month timestamptz := (date_trunc('month', moment AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC';
    partition_name text := parent || '_' || to_char(first_day AT TIME ZONE 'UTC', 'YYYYMM');
BEGIN
    IF to_regclass(partition_name) IS NULL THEN
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
            partition_name, parent, roleos_first_uuid(first_day), roleos_first_uuid(next_month));
    END IF;
END
$$;

-- Programs that dispatch, by the clock of the database.
CREATE TABLE replicas (
    holder text PRIMARY KEY,
    seen_at timestamptz NOT NULL DEFAULT now()
);
