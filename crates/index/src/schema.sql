CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- How far each log was read. `mark` is the hash of the last bytes before `offset`.
CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    inode INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    line INTEGER NOT NULL,
    mark BLOB NOT NULL,
    damaged INTEGER NOT NULL DEFAULT 0
) STRICT;

-- One row a bundle file.
CREATE TABLE task (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL UNIQUE,
    stamp TEXT NOT NULL,
    verdict TEXT NOT NULL,
    task_id TEXT NOT NULL,
    created_ns INTEGER NOT NULL,
    week TEXT NOT NULL,
    day TEXT NOT NULL,
    outcome TEXT NOT NULL,
    mode TEXT NOT NULL,
    role TEXT NOT NULL,
    model TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    identity BLOB NOT NULL,
    calls INTEGER NOT NULL,
    denied INTEGER NOT NULL,
    latency_ms INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    cost_known INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    complete INTEGER NOT NULL,
    violations INTEGER NOT NULL,
    rollbacks INTEGER NOT NULL,
    restored INTEGER NOT NULL,
    suite TEXT NOT NULL,
    corrected INTEGER NOT NULL,
    policy BLOB NOT NULL,
    policy_known INTEGER NOT NULL,
    is_task INTEGER NOT NULL,
    by_agent INTEGER NOT NULL,
    signature INTEGER NOT NULL,
    -- What the ledger is compared with; null where the file could not be read.
    sha256 BLOB,
    own INTEGER NOT NULL,
    sequence INTEGER,
    previous BLOB,
    -- The first line of the spec, and its beginning for searches.
    title TEXT NOT NULL,
    spec TEXT NOT NULL,
    -- The digest of the file as hexadecimal text, for searches.
    digest TEXT NOT NULL
) STRICT;
CREATE INDEX task_digest ON task (digest);
CREATE INDEX task_agent ON task (agent, created_ns, id);
CREATE INDEX task_session ON task (session, created_ns);
CREATE INDEX task_time ON task (created_ns, id);
CREATE INDEX task_id ON task (task_id, created_ns);
CREATE INDEX task_outcome ON task (outcome, created_ns, id);
CREATE INDEX task_role ON task (role, created_ns, id);
CREATE INDEX task_model ON task (model, created_ns, id);
CREATE INDEX task_mode ON task (mode, created_ns, id);
CREATE INDEX task_week ON task (week, created_ns, id);
CREATE INDEX task_verdict ON task (verdict, created_ns, id);
CREATE INDEX task_identity ON task (identity, created_ns);
-- What the filters of the list need, so that several of them at once are answered from the index alone.
CREATE INDEX task_filter ON task (outcome, role, model, mode, week, verdict, created_ns);
-- What a comparison needs, in the order in which it is merged.
CREATE INDEX task_of_week ON task (week, verdict, identity, created_ns, outcome);
CREATE INDEX task_of_model ON task (model, verdict, identity, created_ns, outcome);

-- One row a journal.
CREATE TABLE session (
    source INTEGER PRIMARY KEY REFERENCES source (id) ON DELETE CASCADE,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    directory TEXT NOT NULL,
    mode TEXT NOT NULL,
    gate INTEGER NOT NULL,
    started_ns INTEGER NOT NULL,
    last_ns INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    asked INTEGER NOT NULL,
    denied INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    sealed TEXT NOT NULL,
    -- The first line of the first prompt.
    title TEXT NOT NULL
) STRICT;
CREATE INDEX session_time ON session (last_ns, source);

-- One row a tool call that the hook decided about.
CREATE TABLE decision (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    line INTEGER NOT NULL,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    week TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    text TEXT NOT NULL,
    directory TEXT NOT NULL,
    gate INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    actions TEXT NOT NULL,
    reasons TEXT NOT NULL,
    notes TEXT NOT NULL,
    grants TEXT NOT NULL,
    violations TEXT NOT NULL,
    approval TEXT,
    refusal TEXT,
    decided_us INTEGER NOT NULL,
    -- The digest of the arguments, of which a bundle has the beginning.
    input TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX decision_line ON decision (source, line);
CREATE INDEX decision_time ON decision (time_ns, id);
CREATE INDEX decision_verdict ON decision (verdict, time_ns, id);
CREATE INDEX decision_session ON decision (session, time_ns, id);
CREATE INDEX decision_week ON decision (week, time_ns, id);
CREATE INDEX decision_agent ON decision (agent, time_ns, id);

-- One row a candidate of the run log.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    line INTEGER NOT NULL,
    ts TEXT NOT NULL,
    week TEXT NOT NULL,
    run_id TEXT NOT NULL,
    role TEXT NOT NULL,
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    passed INTEGER NOT NULL,
    won INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    cost REAL NOT NULL,
    reward REAL NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX run_line ON run (source, line);
CREATE INDEX run_run ON run (run_id, id);
CREATE INDEX run_role ON run (role, id);
CREATE INDEX run_model ON run (model, id);
CREATE INDEX run_mode ON run (mode, id);
CREATE INDEX run_week ON run (week, id);
CREATE INDEX run_tally ON run (role, model, passed, won, refused, reward, cost);

-- Specialists' events and probes.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    line INTEGER NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    ts TEXT NOT NULL,
    agreed INTEGER,
    data TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_line ON event (source, line);
CREATE INDEX event_role ON event (role, kind, ts, id);
CREATE INDEX event_time ON event (ts, id);

-- One row a bundle that was logged, in the order of the ledger.
CREATE TABLE leaf (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    line INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    created_ns INTEGER NOT NULL,
    sha256 BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX leaf_line ON leaf (source, line);
CREATE INDEX leaf_task ON leaf (task_id, line);
CREATE INDEX leaf_digest ON leaf (sha256);

-- The field log: one row a dispatch.
CREATE TABLE dispatch (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    line INTEGER NOT NULL,
    role TEXT NOT NULL,
    ts TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    route TEXT NOT NULL,
    served_by TEXT NOT NULL,
    version TEXT,
    verdict TEXT,
    score REAL
) STRICT;
CREATE UNIQUE INDEX dispatch_line ON dispatch (source, line);
CREATE INDEX dispatch_role ON dispatch (role, ts, id);
CREATE INDEX dispatch_time ON dispatch (ts, id);

-- The gateway's log: one row a request.
CREATE TABLE request (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    line INTEGER NOT NULL,
    ts TEXT NOT NULL,
    trace TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    route TEXT NOT NULL,
    role TEXT NOT NULL,
    model TEXT NOT NULL,
    served TEXT NOT NULL,
    upstream TEXT NOT NULL,
    status INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    ms REAL NOT NULL,
    overhead_us INTEGER NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    session TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX request_line ON request (source, line);
CREATE INDEX request_time ON request (ts, id);
CREATE INDEX request_session ON request (session, ts);
CREATE INDEX request_tally ON request (role, model, status, ms);
