"""Every bound of the engine, each with its unit in its name and the reason for its value."""

from __future__ import annotations

# -- time ---------------------------------------------------------------------------------------------------------
# protocol.md: one bound on the difference between two writers' clocks, used everywhere.
CLOCK_SKEW_MILLISECONDS = 2_000
# protocol.md 3: added to the lease for each claim without orderly release, so that ten minutes of throttled
# commits cannot use up all attempts.
PENALTY_STEP_MILLISECONDS = 120_000
# protocol.md 3: claims that ended without an orderly release before the run asks for help.
MAX_CLAIM_ATTEMPTS = 8
# protocol.md 3: burst commits in a row that change nothing.
MAX_IDLE_COMMITS = 3
# Sort key of an index entry that waits for no instant: 9999-12-31, the last RFC 3339 second.
FAR_FUTURE_AT = 253_402_300_799_000
# architecture.md 9: how long a terminal run is kept when nothing says otherwise.
TERMINAL_RETENTION_MILLISECONDS = 30 * 86_400_000
# protocol.md 2: retry jitter of conflicts and throttles.
RETRY_JITTER_MILLISECONDS = (20, 400)
# Tries of one store call before the invocation gives up and lets the lease expire.
MAX_STORE_TRIES = 8
# protocol.md 3: how often a commit whose segment is absent after lost replies is sent, the same under its token. Each
# time has MAX_STORE_TRIES of its own, all within the invocation and so within the token's ten minutes.
COMMIT_RESENDS = 2
# A signal's optimistic append under contention: each try reads the head anew.
MAX_SIGNAL_TRIES = 64
# protocol.md 3: time is checked before each claim and each call; a commit with its retries fits in this.
COMMIT_RESERVE_MILLISECONDS = 3_000
# protocol.md 4: a job for a run due within this is sent again with that delay.
JOB_HOLD_MILLISECONDS = 120_000
# protocol.md 4: writers send the delayed job themselves for what falls due within the SQS maximum.
JOB_MAX_DELAY_MILLISECONDS = 900_000
# protocol.md 4: the sweeper leaves what is overdue by less to the jobs that are already on their way.
SWEEP_OVERDUE_MILLISECONDS = 60_000
# protocol.md 3: back-off of a release after an unexpected error: doubling from the first to the last value.
RELEASE_BACKOFF_MILLISECONDS = (5_000, 300_000)

# protocol.md 4: what a paused run or connector holds back is looked at again after this.
PAUSED_RECHECK_MILLISECONDS = 60_000
# protocol.md 4: index entries read per shard and class in one sweep, half oldest first, half from the cursor.
SWEEP_SHARD_ITEMS = 50
# protocol.md 4: the sweeper holds back while this many jobs wait: more hints would not make the executor faster.
SWEEP_MAX_QUEUE_DEPTH = 5_000

# -- store --------------------------------------------------------------------------------------------------------
# protocol.md 4: spreads the index writes; any key's share of a uniform load stays at or below 1/32.
INDEX_SHARDS = 64
# architecture.md 4: tasks of one queue spread over this many partitions.
QUEUE_SHARDS = 32
# protocol.md 1: above this the map of latest outputs is a row of its own, so that the head stays about 1 KB.
LATEST_INLINE_MAX_BYTES = 2_048
# protocol.md 1: payloads above this go to S3 by digest.
PAYLOAD_INLINE_MAX_BYTES = 4_096
# architecture.md 10: a body of a request; also the hard bound of a payload.
BODY_MAX_BYTES = 1_048_576
PUBLISH_BODY_MAX_BYTES = 5_242_880
BODY_MAX_DEPTH = 64
# protocol.md 3: DynamoDB takes 100 items in a transaction; ten are left for the head, segment and records.
COMMIT_MAX_ITEMS = 90
# protocol.md 3: DynamoDB takes 4 MB; headroom for keys and the head.
# Kept by the bounds of what stands inline, not looked at again: tests/protocol measures the largest commit.
COMMIT_MAX_BYTES = 3_145_728
# A segment is one item of at most 400 KB: steps of one commit, and bytes of their inline outputs.
COMMIT_MAX_STEPS = 100
COMMIT_MAX_OUTPUT_BYTES = 204_800
# What DynamoDB takes (its quotas page); the adapters refuse before they send, so that each gives the same answer.
STORE_ITEM_MAX_BYTES = 409_600
STORE_TRANSACTION_MAX_ITEMS = 100
STORE_TRANSACTION_MAX_BYTES = 4_194_304
STORE_TOKEN_MAX_CHARACTERS = 36
STORE_TOKEN_VALID_MILLISECONDS = 10 * 60_000
# Lists and maps inside each other: 32 levels, of which the innermost value is one.
STORE_NESTING_MAX_DEPTH = 31
STORE_NUMBER_MAX_DIGITS = 38
STORE_PARTITION_KEY_MAX_BYTES = 2_048
STORE_SORT_KEY_MAX_BYTES = 1_024
# BatchGetItem takes this many keys; more are read in several calls.
STORE_BATCH_GET_MAX_KEYS = 100
# Rows closed by one cleanup page (protocol.md 3, closing).
CLOSING_PAGE_ITEMS = 40

# -- runs ---------------------------------------------------------------------------------------------------------
# protocol.md 2: buffered events and events in the inbox together.
MAX_PENDING_EVENTS = 32
# architecture.md 6.1: runs in a chain of linked workflows, the root being the first.
MAX_LINKED_RUNS = 5
# Nested forks: a step id with names of 100 characters must fit in a sort key of 1,024 bytes.
MAX_BRANCH_DEPTH = 8
STEP_ID_MAX_BYTES = 900
# A page of merged reports that an expression may see; the rest are counted in the run's view.
REPORTS_IN_CONTEXT_MAX = 100
# Polls of one enrichment: a week of them every ten minutes; each is a burst of its own.
MAX_POLL_ATTEMPTS = 1_000
# protocol.md 5: attempts of an effect, its back-off and the time one call may take.
MAX_EFFECT_ATTEMPTS = 8
# Lookups without an answer before a person is asked: with the back-off below, about half an hour.
MAX_EFFECT_LOOKUPS = 8
EFFECT_BACKOFF_MILLISECONDS = (5_000, 900_000)
EFFECT_CALL_TIMEOUT_SECONDS = 10
COMPONENT_CALL_TIMEOUT_SECONDS = 10
# domain.md: a claim that is not renewed is given to the next person.
TASK_CLAIM_MILLISECONDS = 15 * 60_000
# Read-only calls of one burst at the same time: a Lambda's threads share one CPU and its connections.
PARALLEL_CALLS_MAX = 16
# architecture.md 10: lists.
PAGE_MAX_ITEMS = 100
# protocol.md 1: idempotency records of control operations.
IDEMPOTENCY_MILLISECONDS = 86_400_000
# Events by key that no run waits for yet.
PARKED_EVENT_MILLISECONDS = 30 * 86_400_000

# -- graph --------------------------------------------------------------------------------------------------------
# architecture.md 6.1: what a graph may hold; publication of the largest fits in one invocation.
GRAPH_MAX_NODES = 20_000
FORK_MAX_BRANCHES = 64
MAX_VISITS_DEFAULT = 100
MAX_VISITS = 100_000
# A retry stays inside one lease's worth of patience; what needs more belongs in a loop with a delay.
MAX_RETRY_ATTEMPTS = 20
# Longer waits than ten years are mistakes of a unit.
WAIT_MAX_SECONDS = 315_360_000
RUN_DEADLINE_MAX_SECONDS = 315_360_000
# Cases are evaluated one after the other in one burst.
CONDITION_MAX_CASES = 200
# Each outcome is a button of the form and a port.
FORM_MAX_OUTCOMES = 64
# Each type of a correlated wait is a row of its own, removed in the commit that ends the wait: eight fit in the ten
# items that COMMIT_MAX_ITEMS leaves of what DynamoDB takes.
WAIT_MAX_EVENT_TYPES = 8

# -- drawing ------------------------------------------------------------------------------------------------------
# A person reads a box at a glance: longer ids are broken, longer port names cut, more ports counted.
DRAWING_ID_LINE_CHARACTERS = 24
DRAWING_LABEL_LINE_CHARACTERS = 26
DRAWING_LABEL_LINES = 5
# Nodes side by side: ten boxes are as wide as two screens. Graphs of more than a hundred nodes get more.
DRAWING_LAYER_MIN_NODES = 10
# Lanes of long lines in the whole picture; beyond, the longest lines are cut. Measured: 20,000 lay out in seconds.
DRAWING_MAX_LANES = 20_000
# Sweeps that order a small graph, and items and links that all sweeps of a large one may touch.
DRAWING_SWEEPS = 24
DRAWING_ORDER_WORK = 120_000
# Level lines between two layers whose order is improved pair by pair.
DRAWING_SORTED_TRACKS = 120

# -- intake and people ----------------------------------------------------------------------------------------------
# domain.md 3.1: a report's free text has up to 20,000 bytes; with context it still fits inline in one item.
REPORT_CONTENT_MAX_BYTES = 65_536
# Longer subject keys are hashed, so that a pointer's partition key stays far below DynamoDB's 2,048 bytes.
SUBJECT_KEY_INLINE_MAX_BYTES = 256
SUBJECT_KEY_MAX_CHARACTERS = 2_048
# Partitions of the list of a queue's reports.
REPORT_SHARDS = 32
# architecture.md 7: `next` reads this many tasks and picks at random inside the top priority.
TASK_CANDIDATES = 20
# Of an event, and of the wait that it finds: 85 waits of one commit name theirs in a segment of at most 400 KB.
CORRELATION_KEY_MAX_CHARACTERS = 512
# An Idempotency-Key or a sender's event id: long enough for two UUIDs and a prefix.
IDEMPOTENCY_KEY_MAX_CHARACTERS = 200

# -- expressions --------------------------------------------------------------------------------------------------
# CEL's own budget, measured: the 10,000th round of all loops of one evaluation is refused.
EXPRESSION_MAX_ITERATIONS = 9_999
# Source text of one expression: longer ones belong into a component.
EXPRESSION_MAX_LENGTH = 10_000
# What one expression may see: the input, the report and some outputs, each at most one body.
EXPRESSION_CONTEXT_MAX_BYTES = 4_194_304
# What one evaluation may allocate, estimated before it runs; a Lambda of 512 MB bears several at a time.
EXPRESSION_MAX_ALLOCATED_BYTES = 67_108_864
# The JSON that an expression may give: a payload.
EXPRESSION_RESULT_MAX_BYTES = 1_048_576
# Nesting of a value in the context: CEL compares recursively in C and ends the process at some 10,000 levels.
EXPRESSION_CONTEXT_MAX_DEPTH = 100
# Inside one invocation of the executor (60 s): the claim before it and the commit after it need the rest.
CALL_MAX_SECONDS = 50

# Characters of a `pattern` in a JSON Schema: a check for a person's answer, not a grammar.
PATTERN_MAX_LENGTH = 1_000
# Bytes that RE2 may use for one pattern: `x{1000}{1000}` is refused at publication.
PATTERN_MAX_BYTES = 1 << 20
# Subschemas of one schema with its references put in: each may be visited once per place of a value.
SCHEMA_MAX_SIZE = 10_000
# Levels of it: the library that checks a value calls itself some five times for each.
SCHEMA_MAX_DEPTH = 64
