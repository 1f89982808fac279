"""Working on a task: next, claim, heartbeat, release (architecture.md 7). Completion is in complete_task.py."""

from __future__ import annotations

from dataclasses import replace

from casegraph.application.context import Ports
from casegraph.application.heads import read_head
from casegraph.application.index_pages import each_shard
from casegraph.application.persistence import patiently, transact, write
from casegraph.application.tasks import read_again, refusal, task_key
from casegraph.domain import rules, task
from casegraph.domain.burst.closing import cause_of
from casegraph.domain.canonical import digest
from casegraph.domain.head import head_key
from casegraph.domain.task import open_rank, queue_pk
from casegraph.domain.writes import Check, Item, Table, Update
from casegraph.errors import ConditionsFailed, Conflict
from casegraph.limits import CLOCK_SKEW_MILLISECONDS, QUEUE_SHARDS, TASK_CANDIDATES

Entry = tuple[str, str, str]


def next_task(ports: Ports, queue_id: str, person: str, idempotency_key: str = "") -> Item | None:
    """Claim the most urgent task of a queue that nobody works on; None when there is none.

    Reads up to 20, takes one at random inside the top priority (two people asking at once rarely want the same), and
    goes on with the next when another was faster. Asked again under the same idempotency key while the claim lasts, it
    gives the task that it gave (best effort: the index may lag).
    """
    request = digest([queue_id, person, idempotency_key])[-32:] if idempotency_key else ""
    given = _given_before(ports, person, request) if request else None
    if given is not None:
        return given
    candidates = _candidates(ports, queue_id)
    while candidates:
        chosen = _pick(ports, candidates)
        candidates.remove(chosen)
        try:
            return claim(ports, chosen, person, request)
        except Conflict:
            continue
    return None


def _given_before(ports: Ports, person: str, request: str) -> Item | None:
    """The task that this very request was given and still holds."""
    pk, now = f"person#{person}", ports.clock.now()
    page = patiently(
        ports,
        lambda: ports.store.query_index(Table.RUNS, "person_tasks", pk, low=now, limit=TASK_CANDIDATES),
    )
    rows = read_again(ports, [("", item["pk"], item["sk"]) for item in page.items])
    return next((row for row in rows.values() if row.get("claim_request") == request), None)


def _pick(ports: Ports, candidates: list[Item]) -> Item:
    top = [item for item in candidates if item["priority"] == candidates[0]["priority"]]
    return top[ports.ids.jitter(0, len(top) - 1)]


def _candidates(ports: Ports, queue_id: str) -> list[Item]:
    """Tasks that are open, or whose claim has expired, the most urgent first."""
    now = ports.clock.now()
    open_entries: list[Entry] = []
    expired: list[Entry] = []
    for found in each_shard(
        ports, range(QUEUE_SHARDS), lambda shard: _shard_entries(ports, queue_id, shard, now)
    ):
        open_entries.extend(e for e in found if e[0].startswith("0#"))
        expired.extend(e for e in found if e[0].startswith("1#"))
    entries = sorted(open_entries)[:TASK_CANDIDATES] + sorted(expired)[:TASK_CANDIDATES]
    free = [row for row in read_again(ports, entries).values() if _free(row, now)]
    return sorted(free, key=open_rank)[:TASK_CANDIDATES]


def _free(row: Item, now: int) -> bool:
    return row["state"] == "open" or int(row["claim_until"]) < now - CLOCK_SKEW_MILLISECONDS


def _shard_entries(ports: Ports, queue_id: str, shard: int, now: int) -> list[Entry]:
    """Open tasks, then expired claims: one request, and a second only when open ones fill the first."""
    expired_before = f"1#{now - CLOCK_SKEW_MILLISECONDS:013d}"
    found = _read(ports, queue_id, shard, "0#", expired_before)
    if len(found) >= TASK_CANDIDATES and found[-1][0].startswith("0#"):
        found += _read(ports, queue_id, shard, "1#", expired_before)
    return found


def _read(ports: Ports, queue_id: str, shard: int, low: str, high: str) -> list[Entry]:
    pk = queue_pk(queue_id, shard)
    page = patiently(
        ports,
        lambda: ports.store.query_index(
            Table.RUNS, "queue_tasks", pk, low=low, high=high, limit=TASK_CANDIDATES
        ),
    )
    return [(item["task_rank"], item["pk"], item["sk"]) for item in page.items]


def claim(ports: Ports, item: Item, person: str, request: str = "") -> Item:
    """Give a task to a person, if its run still waits for it. The task's row afterwards. request: of `next_task`.

    Raises `Conflict` that names who holds or decided it, or what the run did meanwhile.
    """
    key = task_key(item)
    update = task.claim(key, item, person, ports.clock.now())
    update = replace(update, set={**update.set, ("claim_request",): request})
    wanted = (rules.NOT_TERMINAL, rules.token_open(item["token_key"]))
    try:
        transact(ports, [update, Check(head_key(item["run_id"]), wanted)])
    except ConditionsFailed as failed:
        current = patiently(ports, lambda: ports.store.get(key)) or item
        if failed.of(0) is None:
            raise closed(ports, current) from failed
        raise refusal(current) from failed
    return patiently(ports, lambda: ports.store.get(key)) or item


def closed(ports: Ports, item: Item) -> Conflict:
    """The run has ended, or another branch has won (and is named): the row follows in a cleanup page."""
    if item["state"] in ("completed", "expired", "cancelled"):
        return refusal(item)
    head = read_head(ports, item["run_id"])
    cause = cause_of(head, item["token_key"], ports.versions.graph(item["digest"]))
    current = item if cause else patiently(ports, lambda: ports.store.get(task_key(item)))
    if current is not None and current["state"] not in task.OPEN_STATES:
        return refusal(current)  # its page came in between
    why = f" ({cause})" if cause else ""
    return Conflict(
        f"the run no longer waits for this task: it has ended, or another branch was first{why}",
        "task_closed",
        run_id=item["run_id"],
        current_state="closing",
        cause=cause,
    )


def heartbeat(ports: Ports, item: Item, person: str, generation: int) -> Item:
    """Keep a claim for another period. Raises `Conflict` when it is not this person's claim any more."""
    return _hold(ports, item, task.renew(task_key(item), item, person, generation, ports.clock.now()))


def release(ports: Ports, item: Item, person: str, generation: int) -> Item:
    """Give a claimed task back to its queue. Raises `Conflict` when it is not this person's claim any more."""
    return _hold(ports, item, task.release(task_key(item), item, person, generation))


def _hold(ports: Ports, item: Item, update: Update) -> Item:
    try:
        after = write(ports, update)
    except ConditionsFailed as failed:
        raise refusal(failed.failures[0].old_item or item) from failed
    return after or item
