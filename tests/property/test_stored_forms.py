"""Stored forms: what is written is what is read, for every value that may occur."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from casegraph.domain.head import Head, Paused, facts, from_item, to_item
from casegraph.domain.ids import parse_public_id, public_id
from casegraph.domain.place import Level, Place, parse_key
from casegraph.domain.segment import Segment, chain_faults, delta_between, first_delta, replay
from casegraph.domain.segment import to_item as segment_item
from casegraph.domain.signal import Pointer
from casegraph.domain.token import Token, TokenStatus, decode, encode

BASE = 1_800_000_000_000

places = st.builds(
    Place,
    st.lists(st.builds(Level, *[st.integers(0, 20_000)] * 3), max_size=4).map(tuple),
    st.integers(0, 20_000),
    st.integers(1, 100_000),
)
tokens = st.builds(
    Token,
    st.sampled_from(TokenStatus),
    st.none() | st.integers(BASE - 10_000, BASE + 10**12),
    st.integers(0, 99),
    st.sampled_from(["", "0123456789abcdef"]),
    st.sampled_from(["", "node_failed", "effect_ambiguous"]),
)
frontiers = st.dictionaries(places.map(lambda p: p.key), tokens, max_size=6)
heads = st.builds(
    lambda frontier, outcome, paused, latest, visits, inbox, buffered, wake_at: Head(
        run_id="run-0000000000000000000000000000",
        installation_id="default",
        workflow_key="w",
        version=1,
        digest="sha256:0",
        authority="assist",
        started_at=BASE,
        frontier=frontier,
        outcome=outcome,
        paused=paused,
        latest=latest,
        visits=visits,
        inbox=tuple(inbox),
        buffered=tuple(buffered),
        wake_at=wake_at,
    ),
    frontiers,
    st.sampled_from([None, "succeeded", "terminated"]),
    st.none() | st.builds(Paused, st.just(BASE), st.none() | st.just(BASE + 5)),
    st.dictionaries(st.sampled_from(["1", "2", "3.1.0/4"]), st.integers(1, 9), max_size=3),
    st.dictionaries(st.sampled_from(["1", "2", "3.1.0/4"]), st.integers(1, 9), max_size=3),
    st.lists(st.sampled_from(["task|a#1", "event|ab|x.y|12"]), max_size=3),
    st.lists(st.sampled_from(["event|ab|x.y|12", "event|cd|x.y"]), max_size=3),
    st.none() | st.integers(BASE, BASE + 10**9),
)


@given(places)
def test_a_place_is_read_back_from_its_key(place: Place) -> None:
    assert parse_key(place.key) == place


@given(tokens)
def test_a_token_is_read_back_from_its_stored_form(token: Token) -> None:
    assert decode(encode(token, BASE), BASE) == token


@given(heads)
def test_a_head_is_read_back_from_its_row(head: Head) -> None:
    assert from_item(to_item(head)) == head


@given(st.lists(heads, min_size=1, max_size=5))
def test_replaying_the_segments_gives_the_facts_of_the_last_head(history: list[Head]) -> None:
    rows, before, previous = [], None, ""
    for revision, head in enumerate(history):
        current = replace(head, revision=revision)
        delta = first_delta(current) if before is None else delta_between(before, current)
        entry = Segment("run-00", revision, "burst", BASE, "c", previous, delta=delta)
        rows.append(segment_item(entry))
        before, previous = current, rows[-1]["hash"]
    assert before is not None
    assert replay(rows) == facts(before)
    assert chain_faults(rows) == []


@given(st.integers(0, 4), st.sampled_from(["recorded_at", "kind", "delta", "prev"]))
def test_a_changed_segment_is_found_and_named(position: int, field: str) -> None:
    rows, previous = [], ""
    for revision in range(5):
        rows.append(segment_item(Segment("run-00", revision, "burst", BASE + revision, "c", previous)))
        previous = rows[-1]["hash"]
    rows[position][field] = {"set": {"steps": 9}} if field == "delta" else "x"
    assert any(f"segment {position} " in fault for fault in chain_faults(rows))


steps = st.lists(
    st.tuples(st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True), st.integers(1, 999)),
    min_size=1,
    max_size=3,
).map(lambda parts: "/x/".join(f"{name}#{number}" for name, number in parts))


@given(steps, st.none() | st.integers(1, 99))
def test_a_public_id_leads_back_to_its_step(step: str, number: int | None) -> None:
    assert parse_public_id(public_id("run-0a", step, number)) == ("run-0a", step, number)


@given(
    st.builds(
        Pointer,
        st.sampled_from(["event", "task"]),
        st.sampled_from(["review#1", "f#1/a/b#2", "0a1b"]),
        st.sampled_from(["", "notice.completed"]),
        st.sampled_from(["", "0123456789abcdef"]),
        st.none() | st.integers(1, 10**13),
    )
)
def test_a_pointer_is_read_back_from_its_stored_form(pointer: Pointer) -> None:
    assert Pointer.parse(pointer.encode()) == pointer
