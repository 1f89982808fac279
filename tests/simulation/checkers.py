"""Checkers of the invariants, each a function over what a simulation left: its history and its final store.

The numbers are those of the list of invariants. A checker returns what is wrong, in words; empty: it holds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from casegraph.domain import segment, task
from casegraph.domain.effect import EFFECT_SOURCES
from casegraph.domain.graph.compiled import CompiledGraph
from casegraph.domain.head import HEAD_SK, Head, facts, from_item
from casegraph.domain.place import parse_key
from casegraph.domain.signal import Pointer
from casegraph.domain.token import TokenStatus
from casegraph.domain.writes import Item, Key, Table
from casegraph.limits import CLOCK_SKEW_MILLISECONDS, FAR_FUTURE_AT, MAX_CLAIM_ATTEMPTS
from casegraph.testing.history import Change, Fact, History
from casegraph.testing.outside import Received

Faults = list[str]


@dataclass
class Evidence:
    """What the checkers judge: history and final items; receivers by recovery class; clock errors by writer."""

    history: History
    items: dict[Key, Item]
    now: int
    run_ids: list[str]
    received: dict[str, list[Received]] = field(default_factory=dict)
    applied: dict[str, dict[str, int]] = field(default_factory=dict)
    unanswered: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    skews: dict[str, int] = field(default_factory=dict)
    log: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    graphs: dict[str, CompiledGraph] = field(default_factory=dict)

    @cached_property
    def calls(self) -> dict[int, list[Change]]:
        """The changes of each call."""
        calls: dict[int, list[Change]] = defaultdict(list)
        for change in self.history.changes:
            calls[change.call].append(change)
        return calls

    @cached_property
    def by_key(self) -> dict[Key, list[Change]]:
        """The changes of each item."""
        changes: dict[Key, list[Change]] = defaultdict(list)
        for change in self.history.changes:
            changes[change.key].append(change)
        return changes

    def head_changes(self) -> Iterator[Change]:
        """Changes of heads, in order."""
        return (c for c in self.history.changes if c.key.table is Table.RUNS and c.key.sk == HEAD_SK)

    def rows(self, prefix: str) -> Iterator[tuple[Key, Item]]:
        """Final rows of runs whose sort key starts with `prefix`."""
        return (
            (k, i)
            for k, i in sorted(self.items.items(), key=lambda entry: (entry[0].pk, entry[0].sk))
            if k.table is Table.RUNS and k.sk.startswith(prefix)
        )

    def heads(self) -> Iterator[Item]:
        """Final heads."""
        return (item for key, item in self.rows(HEAD_SK) if key.sk == HEAD_SK)

    def segments(self, pk: str) -> list[Item]:
        """A run's final segments in order."""
        return [item for key, item in self.rows(segment.SEGMENT_PREFIX) if key.pk == pk]


def terminal_outcome_never_changes(e: Evidence) -> Faults:
    """1."""
    return [
        f"{c.key.pk} went from {c.old['outcome']} to {(c.new or {}).get('outcome')} at {c.at} by {c.writer}"
        for c in e.head_changes()
        if c.old is not None
        and "outcome" in c.old
        and (
            c.new is None
            or c.new.get("outcome") != c.old["outcome"]
            or c.new["revision"] != c.old["revision"]
        )
    ]


def one_live_lease(e: Evidence) -> Faults:
    """2: generations increase by claims only, a claim finds no live lease, and only the holder commits bursts."""
    faults: Faults = []
    holder: dict[str, str] = {}
    for c in e.head_changes():
        if c.old is None or c.new is None:
            continue
        step = c.new["generation"] - c.old["generation"]
        if step not in (0, 1):
            faults.append(f"{c.key.pk}: generation went from {c.old['generation']} by {step}")
        if step == 1:
            now = c.at + e.skews.get(c.writer, 0)
            until = c.old.get("lease_until")
            if until is not None and not until < now - CLOCK_SKEW_MILLISECONDS:
                faults.append(f"{c.key.pk}: {c.writer} claimed a lease that lives until {until}")
            holder[c.key.pk] = c.writer
        burst = any(
            o.key.pk == c.key.pk
            and o.key.sk.startswith("SEG#")
            and o.new is not None
            and o.new["kind"] == "burst"
            for o in e.calls[c.call]
        )
        released = "claim_id" in c.old and "claim_id" not in c.new
        if (burst or released) and holder.get(c.key.pk) != c.writer:
            faults.append(f"{c.key.pk}: {c.writer} wrote, {holder.get(c.key.pk)} held the lease")
    return faults


def gapless_revisions(e: Evidence) -> Faults:
    """3: each mutation is one revision and one segment; segments never change; the chain verifies."""
    faults: Faults = []
    for c in e.head_changes():
        if c.new is None:
            faults.append(f"{c.key.pk} was removed")
            continue
        written = [o for o in e.calls[c.call] if o.key.pk == c.key.pk and o.key.sk.startswith("SEG#")]
        step = c.new["revision"] - (c.old["revision"] if c.old else -1)
        if step != len(written) or step not in (0, 1):
            faults.append(f"{c.key.pk}: revision moved by {step} with {len(written)} segments at {c.at}")
        if written and written[0].new is not None and written[0].new["hash"] != c.new["chain"]:
            faults.append(f"{c.key.pk}: the head's chain is not its last segment's hash")
    for c in e.history.changes:
        if c.key.sk.startswith("SEG#") and c.old is not None:
            faults.append(f"{c.key.pk} {c.key.sk} was written twice")
    for item in e.heads():
        rows = e.segments(item["pk"])
        faults += [f"{item['pk']}: {fault}" for fault in segment.chain_faults(rows)]
        instants = [row["recorded_at"] for row in rows]
        if instants != sorted(instants):
            faults.append(f"{item['pk']}: recorded_at went back")
    return faults


def _signals_of(change: Change) -> str | None:
    """The pointer kind that a change of a row must be signalled by, if any."""
    old, new = change.old, change.new
    if change.key.table is not Table.RUNS or new is None:
        return None
    if change.key.sk.startswith("EVENT#") and old is None:
        return "event"
    if change.key.sk.startswith("TASK#") and old is not None:
        return "task" if new["state"] == "completed" and old["state"] != "completed" else None
    if change.key.sk.startswith("EFFECT#") and old is not None and old["state"] != new["state"]:
        settled = new["state"] in ("applied", "rejected", "ambiguous", "cancelled")
        return "effect" if settled and old["state"] in ("applying", "ambiguous") else None
    if change.key.sk.startswith("CHILD#") and old is not None and new["awaited"]:
        return "child" if new["state"] == "ended" and old["state"] != "ended" else None
    return None


def signals_are_taken_once(e: Evidence) -> Faults:
    """4: each signal row has one append in its own transaction, and is taken in once, in inbox order."""
    faults: Faults = []
    appended: dict[str, list[str]] = defaultdict(list)
    terminal: set[str] = set()
    for changes in e.calls.values():
        wanted = [
            kind
            for c in changes
            if (kind := _signals_of(c)) is not None and not (kind == "child" and c.key.pk in terminal)
        ]
        terminal |= {c.key.pk for c in changes if c.key.sk == HEAD_SK and (c.new or {}).get("outcome")}
        found: list[str] = []
        for c in changes:
            if (
                c.key.sk != HEAD_SK
                or c.old is None
                or c.new is None
                or c.new["revision"] != c.old["revision"]
            ):
                continue
            before, after = c.old["inbox"], c.new["inbox"]
            if after[: len(before)] != before:
                faults.append(
                    f"{c.key.pk}: the inbox lost something without a commit at {c.at} by {c.writer}"
                )
            new = after[len(before) :]
            found += [Pointer.parse(text).kind for text in new]
            appended[c.key.pk] += new
        if sorted(wanted) != sorted(k for k in found if k != "reports"):
            faults.append(f"rows of {wanted} with pointers {found} at {changes[0].at} by {changes[0].writer}")
    for head in e.heads():
        taken = [text for row in e.segments(head["pk"]) for text in row.get("taken", ())]
        if taken + head["inbox"] != appended[head["pk"]]:
            faults.append(f"{head['pk']}: taken {taken} and left {head['inbox']}, not {appended[head['pk']]}")
    return faults


def events_satisfy_one_wait(e: Evidence) -> Faults:
    """5: an event ends at most one wait, over all runs; early ones are kept; nothing that fits is left lying."""
    faults: Faults = []
    used: dict[Any, str] = {}
    consumed: dict[str, set[Any]] = defaultdict(set)
    for key, row in e.rows(segment.SEGMENT_PREFIX):
        for step in row.get("steps", ()):
            output = segment.StepRecord.from_item(step).output
            if not isinstance(output, dict) or "payload" not in output or "source" not in output:
                continue
            number = output["payload"]["n"]
            if number in used:
                faults.append(f"event {number} ended {used[number]} and {key.pk} {step['step']}")
            used[number] = f"{key.pk} {step['step']}"
            consumed[key.pk].add(number)
    events = dict(e.rows("EVENT#"))
    for head in map(from_item, e.heads()):
        if head.terminal:
            continue
        pk = f"RUN#{head.run_id}"
        waiting = {Pointer.parse(t).ref for t in (*head.inbox, *head.buffered) if t.startswith("event|")}
        for key, item in events.items():
            if (
                key.pk == pk
                and json.loads(item["payload"])["n"] not in consumed[pk]
                and item["event_hash"] not in waiting
            ):
                faults.append(f"{pk}: event {item['payload']} was neither taken nor kept")
    return faults + _answered_events_are_there(e, events)


def _answered_events_are_there(e: Evidence, events: dict[Key, Item]) -> Faults:
    """An event that its sender was told is accepted is stored, once, under one run or among the parked."""
    faults: Faults = []
    places: dict[str, list[str]] = defaultdict(list)
    for key, item in events.items():
        places[item["event_id"]].append(key.pk)
    parked = {
        i["event_id"]: i
        for k, i in e.items.items()
        if k.table is Table.CORRELATIONS and k.sk.startswith("EVENT#")
    }
    for event_id, where in places.items():
        if len(where) > 1:
            faults.append(f"event {event_id} is in {where}")
        given = parked.get(event_id, {}).get("given_to")
        if event_id in parked and given is None:
            faults.append(f"event {event_id} is in {where} and still parked")
    for fact in e.history.named("event"):
        if fact.fields["event"].event_id not in places:
            faults.append(f"event {fact.fields['event'].event_id} was accepted and is gone")
    for fact in e.history.named("event_by_key"):
        event_id = fact.fields["event"].event_id
        row = parked.get(event_id)
        if row is None:
            faults.append(f"event {event_id} was accepted by key and is gone")
        elif row.get("given_to") and f"RUN#{row['given_to']}" not in places.get(event_id, []):
            faults.append(f"event {event_id} was given to {row['given_to']}, which has it not")
    return faults


def no_open_wait_is_passed_over(e: Evidence) -> Faults:
    """5: no burst leaves a wait open beside a buffered event that fits it, and no wait times out while an event for
    it lies parked since before."""
    faults: Faults = []
    for c in e.head_changes():
        if c.new is None or c.old is None or c.old["revision"] == c.new["revision"] or not c.new["buffered"]:
            continue
        head = from_item(c.new)
        for key, token in head.frontier.items():
            if token.status is not TokenStatus.WAITING or head.stopped:
                continue
            config = e.graphs[head.run_id].nodes[parse_key(key).node].config
            fits = [
                p
                for p in map(Pointer.parse, head.buffered)
                if p.event_type in getattr(config, "event_types", ()) and token.match in ("", p.match)
            ]
            if fits:
                faults.append(f"{head.run_id} {key} waits beside {fits} at {c.at} by {c.writer}")
    return faults + _parked_and_missed(e)


def _parked_and_missed(e: Evidence) -> Faults:
    faults: Faults = []
    accepted = {f.fields["event"].event_id: f.at for f in e.history.named("event_by_key")}
    parked = [
        i
        for k, i in e.items.items()
        if k.table is Table.CORRELATIONS and k.sk.startswith("EVENT#") and "given_to" not in i
    ]
    waits: dict[tuple[str, str], dict[str, Any]] = {}
    for key, row in e.rows(segment.SEGMENT_PREFIX):
        waits.update({(key.pk, w["step"]): w for w in row.get("opened", ()) if "event_types" in w})
        for step in row.get("steps", ()):
            wait = waits.get((key.pk, step["step"]))
            if wait is None or step["status"] != "timed_out":
                continue
            faults += [
                f"{key.pk} {step['step']} timed out at {row['recorded_at']} while {i['event_id']} lay parked"
                for i in parked
                if (i["event_type"], i["key"]) in [(t, wait["key"]) for t in wait["event_types"]]
                and accepted.get(i["event_id"], e.now) < row["recorded_at"] - CLOCK_SKEW_MILLISECONDS
            ]
    return faults


def no_subscription_outlives_its_wait(e: Evidence) -> Faults:
    """5: the commit that ends a wait removes its subscription, or events by key would be led to a run that no longer
    listens. (One that a worker writes after it has lost its lease is left: subscriptions have no fence.)"""
    faults: Faults = []
    subscribed: dict[tuple[str, str], set[Key]] = defaultdict(set)
    for changes in e.calls.values():
        for c in changes:
            row = c.new or c.old or {}
            if c.key.table is Table.CORRELATIONS and c.key.sk.startswith("RUN#"):
                wait = subscribed[(row["run_id"], row["step"])]
                wait.discard(c.key) if c.new is None else wait.add(c.key)
        for c in changes:
            if c.key.sk.startswith("SEG#") and c.new is not None:
                run_id = c.key.pk.removeprefix("RUN#")
                faults += [
                    f"{run_id} {step['step']} ended at {c.at} and is still subscribed"
                    for step in c.new.get("steps", ())
                    if step.get("status") != "cancelled" and subscribed[(run_id, step["step"])]
                ]
    return faults


def one_index_class(e: Evidence) -> Faults:
    """6: the class follows from the head, its instant is `wake_at`, and what must happen has an instant."""
    faults: Faults = []
    for c in e.head_changes():
        if c.new is None:
            continue
        head = from_item(c.new)
        letter = c.new["due_pk"].partition("#")[0]
        ended = head.terminal and not c.new.get("cleanup")
        wanted = "g" if ended else "p" if head.paused is not None and not head.terminal else "w"
        if letter != wanted:
            faults.append(f"{head.run_id} is in class {letter}, not {wanted}, at {c.at} by {c.writer}")
        if wanted == "w" and c.new["due_at"] != (head.wake_at if head.wake_at is not None else FAR_FUTURE_AT):
            faults.append(f"{head.run_id} is indexed at {c.new['due_at']} and wakes at {head.wake_at}")
        if head.stopped and not head.terminal and head.wake_at is not None:
            faults.append(f"{head.run_id} is stopped and has a wake_at at {c.at} by {c.writer}")
        if wanted == "w" and not head.stopped and head.wake_at is None and _must_move(head):
            faults.append(f"{head.run_id} has work and no wake_at at {c.at} by {c.writer}")
        if head.terminal and head.closing and head.wake_at is None:
            faults.append(f"{head.run_id} has rows to close and no wake_at at {c.at} by {c.writer}")
        attention = head.in_attention and not head.terminal
        if attention != ("attention_pk" in c.new):
            faults.append(
                f"{head.run_id}: attention {attention}, indexed {'attention_pk' in c.new}, at {c.at}"
            )
    return faults


def _must_move(head: Head) -> bool:
    timed = any(t.deadline_at is not None or t.status is TokenStatus.READY for t in head.frontier.values())
    return timed or bool(head.inbox) or bool(head.closing)


def open_rows_belong_to_open_tokens(e: Evidence) -> Faults:
    """7, after every accepted call: an open task has a waiting token, or one whose closing is decided."""
    faults: Faults = []
    heads: dict[str, Item] = {}
    tasks: dict[str, dict[str, Item]] = defaultdict(dict)
    for changes in e.calls.values():
        touched = set()
        for c in changes:
            if c.key.table is not Table.RUNS or c.new is None:
                continue
            if c.key.sk == HEAD_SK:
                heads[c.key.pk] = c.new
                touched.add(c.key.pk)
            elif c.key.sk.startswith("TASK#"):
                tasks[c.key.pk][c.key.sk] = c.new
                touched.add(c.key.pk)
        for pk in touched:
            faults += _stray_tasks(pk, heads.get(pk), tasks[pk], changes[0])
    return faults


def _stray_tasks(pk: str, head: Item | None, tasks: dict[str, Item], change: Change) -> Faults:
    faults = []
    for sk, row in tasks.items():
        if row["state"] not in task.OPEN_STATES:
            continue
        key = row["token_key"]
        waiting = head is not None and head["frontier"].get(key, "")[:1] in ("w", "x")
        if not waiting and (head is None or key not in head["closing"]):
            faults.append(f"{pk} {sk} is {row['state']} without a token at {change.at} by {change.writer}")
    return faults


def outputs_are_written_once(e: Evidence) -> Faults:
    """8."""
    faults: Faults = []
    for head in e.heads():
        seen: dict[str, int] = {}
        ended: dict[str, str] = {}
        for row in e.segments(head["pk"]):
            for step in row.get("steps", ()):
                name = step["step"]
                if "digest" in step or "plain" in step:
                    if name in seen:
                        faults.append(f"{head['pk']} {name}: output in {seen[name]} and {row['revision']}")
                    seen[name] = row["revision"]
                if name in ended and (ended[name] != "failed" or step.get("status") != "cancelled"):
                    faults.append(f"{head['pk']} {name} ended {ended[name]} and {step['status']}")
                ended[name] = step.get("status", "succeeded")
    return faults


def one_winner_for_each_task(e: Evidence) -> Faults:
    """9: states follow the table, a decided row never changes, and who was answered "yes" is who won."""
    faults: Faults = []
    for key, changes in e.by_key.items():
        if not key.sk.startswith("TASK#"):
            continue
        for c in changes:
            if c.old is None or c.new is None or c.old["state"] == c.new["state"] == "open":
                continue
            if c.old["state"] not in (*task.TASK_SOURCES[c.new["state"]],):
                faults.append(
                    f"{key.pk} {key.sk} went from {c.old['state']} to {c.new['state']} by {c.writer}"
                )
    for fact in e.history.named("complete"):
        row = e.items[Key(Table.RUNS, f"RUN#{fact.fields['run_id']}", f"TASK#{fact.fields['step']}")]
        if row["state"] != "completed" or row["completed_by"] != fact.fields["person"]:
            faults.append(f"{fact.fields['person']} was told that {row['task_id']} is theirs: {row['state']}")
    faults += [
        f"{fact.fields['person']} was refused with {fact.fields['error'].code} and not told by whom"
        for fact in e.history.named("complete_refused")
        if fact.fields["error"].code == "task_completed" and not fact.fields["error"].details["who"]
    ]
    return faults + _ports_follow_tasks(e)


def _ports_follow_tasks(e: Evidence) -> Faults:
    faults = []
    for key, row in e.rows(segment.SEGMENT_PREFIX):
        for step in row.get("steps", ()):
            item = e.items.get(Key(Table.RUNS, key.pk, f"TASK#{step['step']}"))
            if item is None or step["status"] == "cancelled":
                continue
            said = item["outcome"] if item["state"] == "completed" else "timeout"
            if step.get("port") != said:
                faults.append(
                    f"{key.pk} {step['step']} left by {step.get('port')}; its task says {item['state']}"
                )
    return faults


def effects_happen_once(e: Evidence) -> Faults:
    """10: at the receiver at most once; a manual one is not called again when nobody knows; what happened is known."""
    faults: Faults = []
    effects = {item["effect_id"]: (key, item) for key, item in e.rows("EFFECT#")}
    for recovery, calls in e.received.items():
        keys: dict[str, set[str]] = defaultdict(set)
        for call in calls:
            keys[call.effect_id].add(call.operation_key)
        for effect_id, its_keys in keys.items():
            times = sum(e.applied[recovery].get(k, 0) for k in its_keys)
            state = effects[effect_id][1]["state"] if effect_id in effects else "gone"
            if times > 1:
                faults.append(f"{recovery} {effect_id} was applied {times} times under {len(its_keys)} keys")
            unknown = (
                state == "pending" and effects[effect_id][1]["unknown"] and _held(e, effects[effect_id][0])
            )
            if times and state not in ("applied", "ambiguous") and not unknown:
                faults.append(f"{recovery} {effect_id} was applied there and is {state} here")
            if not times and state == "applied":
                faults.append(f"{recovery} {effect_id} was never applied there and is applied here")
    manual = e.received.get("manual", [])
    for effect_id, number in e.unanswered.get("manual", []):
        again = [c for c in manual[number + 1 :] if c.effect_id == effect_id]
        if again:
            faults.append(f"manual {effect_id} was called again after an unknown outcome")
    return faults + _effect_states(e)


def _effect_states(e: Evidence) -> Faults:
    faults = []
    for key, changes in e.by_key.items():
        if not key.sk.startswith("EFFECT#"):
            continue
        for c in changes:
            if c.old is None or c.new is None or c.old["state"] == c.new["state"]:
                continue
            if c.old["state"] not in EFFECT_SOURCES[c.new["state"]]:
                faults.append(
                    f"{key.pk} {key.sk} went from {c.old['state']} to {c.new['state']} by {c.writer}"
                )
    return faults


def nothing_starts_for_a_closed_branch(e: Evidence) -> Faults:
    """7, 9, 11: a claim, a completion or an attempt is accepted only while its token is open, in a run that has not
    ended; and an attempt only while the run is not paused."""
    faults: Faults = []
    heads: dict[str, Item] = {}
    for changes in e.calls.values():
        for c in changes:
            if c.old is None or c.new is None or not c.key.sk.startswith(("TASK#", "EFFECT#")):
                continue
            if c.old["state"] == c.new["state"] or c.new["state"] not in ("claimed", "completed", "applying"):
                continue
            head, token = heads[c.key.pk], c.new["token_key"]
            stopped = "outcome" in head or (c.new["state"] == "applying" and "paused" in head)
            if stopped or token not in head["frontier"] or token in head["closing"]:
                faults.append(f"{c.key.pk} {c.key.sk}: {c.new['state']} at {c.at} by {c.writer}")
        heads.update({c.key.pk: c.new for c in changes if c.key.sk == HEAD_SK and c.new is not None})
    return faults


def paused_time_counts_nowhere(e: Evidence) -> Faults:
    """15, as far as deadlines go: a resume moves every deadline by the pause's length, or by nothing (`keep`)."""
    faults: Faults = []
    for c in e.head_changes():
        if c.old is None or c.new is None or "paused" not in c.old or "paused" in c.new or "outcome" in c.new:
            continue
        old, new = from_item(c.old), from_item(c.new)
        moved = new.shifted_by - old.shifted_by
        if moved < 0 or moved > max(0, c.at + CLOCK_SKEW_MILLISECONDS - c.old["paused"]["since"]):
            faults.append(f"{old.run_id}: deadlines moved by {moved} at {c.at}")
        for key, token in old.frontier.items():
            if token.deadline_at is not None and new.frontier[key].deadline_at != token.deadline_at + moved:
                faults.append(f"{old.run_id} {key}: its deadline did not move with the others")
    return faults


def replay_gives_the_head(e: Evidence) -> Faults:
    """16."""
    faults: Faults = []
    for item in e.heads():
        if item.get("latest_elsewhere"):
            continue
        rebuilt = segment.replay(e.segments(item["pk"]))
        head = from_item(item)
        stored = facts(head)
        if head.terminal:  # cleanup pages are bookkeeping, not segments
            rebuilt.pop("closing"), stored.pop("closing")
        different = {k for k in {*rebuilt, *stored} if rebuilt.get(k) != stored.get(k)}
        if different:
            faults.append(f"{item['pk']}: replay differs in {sorted(different)}")
    return faults


def progress_is_never_given_up(e: Evidence) -> Faults:
    """18: `no_progress` never; `dispatch_exhausted` only after more than eight claims without a release."""
    faults: Faults = []
    for c in e.head_changes():
        if c.old is None or c.new is None or "attention" not in c.new or "attention" in c.old:
            continue
        attempts = c.old["attempts"]
        if c.new["attention"] != "dispatch_exhausted" or attempts <= MAX_CLAIM_ATTEMPTS:
            faults.append(f"{c.key.pk} is {c.new['attention']} after {attempts} attempts at {c.at}")
    return faults


def one_open_run_per_subject(e: Evidence) -> Faults:
    """20: no run of a subject starts while another is open; every report that was answered is in its run, once."""
    faults: Faults = []
    subjects = {i["report_id"]: i for k, i in e.items.items() if k.table is Table.REPORTS}
    open_: dict[str, set[str]] = defaultdict(set)
    for c in e.head_changes():
        report = subjects.get((c.new or {}).get("report_id", ""))
        if c.new is None or report is None:
            continue
        runs = open_[report["subject_key"]]
        if c.old is None:
            if runs:
                faults.append(f"{c.key.pk} started on {report['subject_key']} beside {runs} at {c.at}")
            runs.add(c.key.pk)
        if "outcome" in c.new:
            runs.discard(c.key.pk)
        if sum(text.startswith("reports|") for text in c.new["inbox"]) > 1:
            faults.append(f"{c.key.pk}: more than one reports pointer at {c.at}")
    return faults + _reports_are_in_their_runs(e)


def _reports_are_in_their_runs(e: Evidence) -> Faults:
    faults: Faults = []
    merged: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for key, item in e.rows("REPORT#"):
        merged[item["report_id"]].append((key.pk, item["epoch"]))
    for fact in e.history.named("report"):
        answer = fact.fields["answer"]
        found = merged.get(answer.report_id, [])
        head = e.items.get(Key(Table.RUNS, f"RUN#{answer.run_id}", HEAD_SK))
        if head is None or [pk for pk, _ in found] != ([head["pk"]] if answer.merged else []):
            faults.append(f"report {answer.report_id} was answered {answer}, and is in {found}")
            continue
        unseen = answer.merged and "outcome" not in head and head["merge_epoch"] < found[0][1]
        if unseen and f"reports|{found[0][1]}" not in head["inbox"]:
            faults.append(f"report {answer.report_id} is in {head['pk']}, which will never see it")
    return faults


def everything_comes_to_rest(e: Evidence) -> Faults:
    """17, 21: once faults have stopped and every deadline has passed, a run is terminal, paused or in attention."""
    faults: Faults = []
    for item in e.heads():
        head = from_item(item)
        if head.terminal:
            if head.closing or item["due_pk"][0] != "g":
                faults.append(f"{head.run_id} is {head.outcome} and not cleaned up: {dict(head.closing)}")
            continue
        if head.paused is not None or head.in_attention:
            if head.paused is not None and head.paused.until is not None and head.paused.until < e.now:
                faults.append(f"{head.run_id} should have been resumed at {head.paused.until}")
            continue
        future = head.wake_at is not None and head.wake_at > e.now and not head.inbox
        if not future:
            faults.append(f"{head.run_id} hangs: {item}")
    for fact in e.history.named("start"):
        if fact.fields["run_id"] not in {from_item(i).run_id for i in e.heads()}:
            faults.append(f"run {fact.fields['run_id']} was accepted and is gone")
    faults += [
        f"{key.pk} {key.sk} is still {item['state']}"
        for key, item in e.rows("EFFECT#")
        if item["state"] == "applying" or (item["state"] == "pending" and not _held(e, key))
    ]
    return faults


def _held(e: Evidence, key: Key) -> bool:
    return "paused" in e.items[Key(Table.RUNS, key.pk, HEAD_SK)]


def no_bug_was_swallowed(e: Evidence) -> Faults:
    """A burst survives whatever is raised in it; what is not one of our typed errors is a bug all the same."""
    return [
        f"a burst failed with {fields['code']} in {fields.get('run_id')}"
        for name, fields in e.log
        if name == "burst_failed" and str(fields["code"])[:1].isupper()
    ]


CHECKERS: tuple[Callable[[Evidence], Faults], ...] = (
    no_bug_was_swallowed,
    terminal_outcome_never_changes,
    one_live_lease,
    gapless_revisions,
    signals_are_taken_once,
    events_satisfy_one_wait,
    no_open_wait_is_passed_over,
    no_subscription_outlives_its_wait,
    one_index_class,
    open_rows_belong_to_open_tokens,
    outputs_are_written_once,
    one_winner_for_each_task,
    effects_happen_once,
    nothing_starts_for_a_closed_branch,
    paused_time_counts_nowhere,
    replay_gives_the_head,
    progress_is_never_given_up,
    one_open_run_per_subject,
    everything_comes_to_rest,
)


def judge(evidence: Evidence) -> Faults:
    """Every fault, with the name of the checker that found it."""
    return [f"{checker.__name__}: {fault}" for checker in CHECKERS for fault in checker(evidence)]


__all__ = ["CHECKERS", "Evidence", "Fact", "judge"]
