"""protocol.md 1: what is stored, under which keys, and what is derived instead of stored."""

from __future__ import annotations

import pytest

from casegraph.adapters.sizes import item_size
from casegraph.application import commit, control_run
from casegraph.application.context import Ports
from casegraph.application.control_run import Control, pause, resume
from casegraph.application.intake_report import NewReport, intake_report, queue_of, report_key
from casegraph.application.signals import append_update
from casegraph.application.subjects import subject_pk
from casegraph.domain import head as head_module
from casegraph.domain.head import Head, head_key, row_key, to_item
from casegraph.domain.ids import run_id_from_key, run_id_from_route
from casegraph.domain.rules import latest_row_before
from casegraph.domain.segment import chain_faults, replay
from casegraph.domain.signal import Pointer, event_hash
from casegraph.domain.token import Token, TokenStatus
from casegraph.domain.writes import Key, Put, Table, Update
from casegraph.errors import ConditionsFailed, Conflict
from tests.protocol import graphs
from tests.protocol.kit import TRANSACT, Bench


def test_the_head_of_a_simple_run_takes_about_one_kilobyte() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    assert item_size(bench.raw_head(run)) <= 1_024


def test_a_token_at_the_root_takes_at_most_24_bytes() -> None:
    bench = Bench(graphs.person(seconds=86_400 * 300))
    run = bench.started()
    ((key, value),) = bench.raw_head(run)["frontier"].items()
    assert len(key) + len(value) <= 24


def test_a_new_head_has_every_field_of_the_protocol() -> None:
    bench = Bench(graphs.person())
    item = bench.raw_head(bench.start())
    assert {
        "closing", "revision", "wake_at", "generation", "attempts", "penalty", "commit_id", "digest", "authority",
        "inbox", "buffered", "frontier", "latest", "chain", "steps",
    } <= set(item)  # fmt: skip
    assert not {"outcome", "paused", "attention", "claim_id", "lease_until"} & set(item)


def test_every_record_names_its_installation() -> None:
    everything = graphs.fork(
        "all",
        {"a": graphs.review("review"), "b": graphs.mail("send"),
         "c": graphs.wait("listen", correlation_key="input.key")},
        [graphs.decide("done", '"done"')],
    )  # fmt: skip
    bench = Bench(everything)
    world = bench.world
    assert bench.version is not None
    world.queue("reports", pin=bench.version, merge="subject")
    run = world.report("reports", {"key": "k-1"}).run_id
    assert run is not None
    world.report("reports", {"key": "k-1"})
    world.settle()
    world.event(None, "step.done", key="k-2", payload={"again": False})
    world.pause(run)
    rows = bench.site.memory.items()
    kinds = {f"{key.table}/{key.sk.partition('#')[0]}" for key in rows}
    assert {"runs/HEAD", "runs/SEG", "runs/TASK", "runs/EFFECT", "runs/REPORT", "runs/IDEMPOTENCY",
            "subjects/POINTER", "correlations/RUN", "correlations/EVENT", "reports/REPORT"} <= kinds  # fmt: skip
    assert [key for key, item in rows.items() if item.get("installation_id") != "default"] == []
    assert chain_faults(bench.log(run)) == [], "a segment's is covered by its hash"


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "waiting"),
        ({"revision": 0}, "pending"),
        ({"inbox": ["event|x|step.done"]}, "running"),
        ({"lease_until": 10**15}, "leased"),
        ({"attention": "no_progress", "lease_until": 10**15}, "attention"),
        ({"paused": {"since": 1}, "attention": "no_progress"}, "paused"),
        ({"outcome": "succeeded", "paused": {"since": 1}}, "succeeded"),
    ],
)
def test_what_a_reader_sees_is_derived_from_the_head(changes: dict[str, object], state: str) -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    assert not {"state", "status"} & set(bench.raw_head(run))
    bench.edit_head(run, **changes)
    assert bench.head(run).state(bench.now) == state


LOOP = graphs.graph(
    "loop",
    [
        graphs.node("fork", "parallel", {"branches": ["a", "b"]}),
        graphs.wait("one", "step.done"),
        graphs.wait("two", "case.closed"),
        graphs.node("join", "join", {"mode": "all"}),
        graphs.wait("more", "step.done"),
        graphs.node("again", "condition", {"cases": [{"port": "yes", "when": "nodes.more.payload.again"}]}),
    ],
    ["start.success > fork", "fork.a > one", "fork.b > two", "one.received > join", "one.timeout > join",
     "two.received > join", "two.timeout > join", "join.success > more", "more.received > again",
     "more.timeout > end", "again.yes > fork", "again.default > end"],
)  # fmt: skip


def _say(bench: Bench, run: str, event_type: str, again: bool = False) -> None:
    bench.world.event(run, event_type, payload={"again": again})
    bench.advance(run)


def test_a_branch_path_names_its_fork_s_own_occurrence() -> None:
    bench = Bench(LOOP)
    run = bench.started()
    for again in (True, False):
        _say(bench, run, "step.done")
        assert bench.head(run).state(bench.now) == "waiting", "one branch of two does not satisfy the join"
        _say(bench, run, "case.closed")
        _say(bench, run, "step.done", again)
    steps = bench.steps(run)
    assert {"fork#1/a/one#1", "fork#2/a/one#1", "fork#2/b/two#1", "join#2"} <= set(steps)
    assert len(steps) == len(set(steps))
    assert bench.head(run).outcome == "succeeded"


PRUNED = graphs.graph(
    "pruned",
    [graphs.call("look"), graphs.call("unread", "other"), graphs.review("review"),
     graphs.decide("done", "string(nodes.look.score)"), graphs.review("last")],
    ["start.success > look", "look.success > unread", "unread.success > review", "review.accept > done",
     "review.reject > done", "review.timeout > done", "done.recorded > last", "last.accept > end",
     "last.reject > end", "last.timeout > end"],
)  # fmt: skip


def test_only_outputs_that_a_reachable_expression_still_reads_stand_in_the_head() -> None:
    bench = Bench(PRUNED)
    run = bench.started()
    look = bench.site.versions.graph(bench.head(run).digest).ordinal("look")
    assert set(bench.raw_head(run)["latest"]) == {str(look)}
    bench.pass_time(3_600_000)
    bench.advance(run)
    assert bench.head(run).state(bench.now) == "waiting"
    assert bench.raw_head(run)["latest"] == {}, "after the decision nothing reads it any more"


def test_latest_outputs_past_the_bound_stand_in_a_row_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (head_module, commit, control_run):
        monkeypatch.setattr(module, "LATEST_INLINE_MAX_BYTES", 4)
    bench = Bench(PRUNED)
    run = bench.started()
    assert bench.raw_head(run)["latest"] == {}
    assert len(bench.row(run, "LATEST")["latest"]) == 1
    pause(bench.ports, run, Control("operator", "why", "k1"))
    resume(bench.ports, run, Control("operator", "why", "k2"), deadlines="keep")
    assert len(bench.head(run).latest) == 1
    bench.pass_time(3_600_000)
    bench.advance(run)
    assert "done#1" in bench.steps(run)


def test_the_row_of_latest_outputs_never_goes_back() -> None:
    bench = Bench()
    key = row_key("run-1", "LATEST")

    def put(revision: int) -> None:
        item = {"pk": key.pk, "sk": key.sk, "revision": revision}
        bench.ports.store.write(Put(key, item, (latest_row_before(revision),)))

    put(5)
    put(6)
    with pytest.raises(ConditionsFailed):
        put(4)


def test_every_mutation_is_one_segment_chained_to_the_one_before() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    bench.world.pause(run)
    bench.pass_time(1_000)
    bench.world.resume(run)
    bench.advance(run)
    log = bench.log(run)
    assert [item["kind"] for item in log] == ["start", "burst", "pause", "resume", "burst"]
    assert [item["revision"] for item in log] == [0, 1, 2, 3, 4]
    assert chain_faults(log) == []
    assert bench.head(run).chain == log[-1]["hash"]
    assert bench.head(run).commit_id == log[-1]["commit_id"]
    assert (log[2]["actor"], log[2]["reason"]) == ("operator-1", "test")


def test_recorded_at_never_goes_back() -> None:
    bench = Bench(graphs.listener())
    run = bench.start()
    bench.pass_time(60_000)
    bench.advance(run, bench.worker(skew=2_000))
    behind = bench.worker(skew=-2_000)
    pause(behind, run, Control("operator", "why", "k1"))
    resume(behind, run, Control("operator", "why", "k2"))
    bench.world.event(run, "step.done", payload={"again": False})
    bench.advance(run, behind)
    instants = [item["recorded_at"] for item in bench.log(run)]
    assert len(instants) == 5
    assert instants == sorted(instants)
    assert bench.head(run).recorded_at == instants[-1]


def test_replaying_the_segments_gives_the_head() -> None:
    bench = Bench(LOOP)
    run = bench.started()
    _say(bench, run, "step.done")
    bench.world.pause(run)
    assert replay(bench.log(run)) == head_module.facts(bench.head(run))


def test_a_segment_holds_the_steps_with_output_port_attempts_and_the_signals_taken_in() -> None:
    bench = Bench(graphs.caller())
    run = bench.started()
    (look,) = (s for s in bench.log(run)[1]["steps"] if s["step"] == "look#1")
    assert (look["status"], look["port"], look["attempts"]) == ("succeeded", "success", 1)
    assert look["digest"]
    waiting = Bench(graphs.listener())
    other = waiting.started()
    waiting.world.event(other, "step.done", payload={"again": False}, event_id="e-1")
    waiting.advance(other)
    assert waiting.log(other)[-1]["taken"] == [f"event|{event_hash('step.done', 'e-1')}|step.done"]


def test_segment_0_holds_the_facts_and_the_same_start_with_another_content_is_refused() -> None:
    bench = Bench(graphs.person())
    run = bench.start({"key": "k-1"}, key="same")
    facts = bench.row(run, "SEG#0000000000")["facts"]
    assert facts["input_digest"]
    assert (facts["version"], facts["workflow_key"], facts["started_by"]) == (1, "person", "world")
    assert bench.start({"key": "k-1"}, key="same") == run
    with pytest.raises(Conflict) as refused:
        bench.start({"key": "k-2"}, key="same")
    assert refused.value.code == "idempotency_key_reused"
    assert len(bench.log(run)) == 1


def test_starting_again_never_replaces_a_run_that_went_on() -> None:
    bench = Bench(graphs.person())
    run = bench.start(key="same")
    bench.advance(run)
    bench.start(key="same")
    assert bench.head(run).revision == 1


def test_the_chain_covers_digests_so_that_an_output_can_be_erased_but_not_changed() -> None:
    bench = Bench(graphs.caller())
    run = bench.started()
    log = bench.log(run)
    for item in log:
        for step in item.get("steps", ()):
            step.pop("output", None)
        for name in ("input", "report"):
            item.get("facts", {}).pop(name, None)
    assert chain_faults(log) == []
    changed = bench.log(run)
    changed[1]["steps"][0]["digest"] = "sha256:0"
    assert chain_faults(changed) != []


def test_an_event_s_row_is_named_by_its_type_and_the_sender_s_id_not_by_its_key() -> None:
    bench = Bench(LOOP)
    run = bench.started()
    for event_id in ("e-1", "e-2", "e-2"):
        bench.world.event(run, "step.done", key="same", payload={"again": False}, event_id=event_id)
    rows = bench.rows(run, "EVENT#")
    assert sorted(row["event_id"] for row in rows) == ["e-1", "e-2"]
    assert {row["key"] for row in rows} == {"same"}


def _reporting(merge: str = "subject") -> Bench:
    bench = Bench(graphs.person())
    assert bench.version is not None
    for queue in ("q1", "q2"):
        bench.world.queue(queue, pin=bench.version, merge=merge)
    return bench


def _send(ports: Ports, key: str) -> str | None:
    new = NewReport(subject_key="subject-1", content={"key": key}, queue_id="q1")
    return intake_report(ports, new, queue_of(ports, new), caller="c", idempotency_key=key).run_id


def test_two_reports_on_one_subject_at_the_same_instant_are_one_run() -> None:
    bench = _reporting()
    first: list[str | None] = []

    racing = bench.worker(at={TRANSACT: lambda: first.append(_send(bench.ports, "r-1"))})
    second = _send(racing, "r-2")
    assert first == [second]
    assert len(bench.rows(str(second), "REPORT#")) == 1


def test_two_reports_after_the_run_s_end_are_one_new_run() -> None:
    bench = _reporting()
    old = bench.world.report("q1", {"key": "a"}).run_id
    assert old is not None
    bench.world.terminate(old)
    started: list[str | None] = []

    racing = bench.worker(at={TRANSACT: lambda: started.append(_send(bench.ports, "r-1"))})
    second = _send(racing, "r-2")
    assert started == [second] != [old]


def test_only_runs_of_one_queue_and_purpose_merge() -> None:
    bench = _reporting()
    one = bench.world.report("q1", {"key": "a"}).run_id
    two = bench.world.report("q2", {"key": "a"}).run_id
    assert one != two
    assert subject_pk("q1", "report", "s") != subject_pk("q1", "appeal", "s")


def test_a_large_payload_is_written_before_the_commit_that_refers_to_it() -> None:
    bench = Bench(graphs.caller())
    bench.world.component("cheap", lambda _: {"score": 7, "text": "x" * 5_000})
    names: list[int] = []
    worker = bench.worker(at={TRANSACT: lambda: names.append(len(bench.site.blobs.names()))})
    run = bench.start()
    before = len(bench.site.blobs.names())
    bench.advance(run, worker)
    (look,) = (s for s in bench.log(run)[1]["steps"] if s["step"] == "look#1")
    assert look["elsewhere"]
    assert names == [before + 1]


@pytest.mark.parametrize("harm", ["remove", "change"])
def test_a_payload_that_is_gone_or_changed_is_attention_payload_missing(harm: str) -> None:
    bench = Bench(PRUNED)
    bench.world.component("cheap", lambda _: {"score": 7, "text": "x" * 5_000})
    run = bench.started()
    (name,) = (n for n in bench.site.blobs.names() if n.startswith(f"runs/{run}/"))
    if harm == "remove":
        bench.site.blobs.delete(name)
    else:
        bench.site.blobs.put(name, b'{"score": 8}')
    bench.pass_time(3_600_000)
    bench.advance(run)
    assert bench.head(run).attention == "payload_missing"
    assert "done#1" not in bench.steps(run)


def test_ids_are_derived_from_what_they_come_from() -> None:
    same = run_id_from_key("default", "me", "start_run", "k")
    assert run_id_from_key("default", "me", "start_run", "k") == same
    others = {
        run_id_from_key("other", "me", "start_run", "k"), run_id_from_key("default", "you", "start_run", "k"),
        run_id_from_key("default", "me", "restart", "k"), run_id_from_key("default", "me", "start_run", "l"),
    }  # fmt: skip
    assert len(others | {same}) == 5
    routes = {run_id_from_route("r-1", 1, "w"), run_id_from_route("r-1", 2, "w"), run_id_from_route("r-2", 1, "w"),
              run_id_from_route("r-1", 1, "v")}  # fmt: skip
    assert len(routes) == 4


def test_a_control_operation_again_under_its_key_is_a_replay_and_with_another_body_a_conflict() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    first = pause(bench.ports, run, Control("operator", "why", "k"))
    again = pause(bench.ports, run, Control("operator", "why", "k"))
    assert (again.revision, again.replayed) == (first.revision, True)
    assert len(bench.log(run)) == 3
    with pytest.raises(Conflict) as refused:
        resume(bench.ports, run, Control("operator", "why", "k"))
    assert refused.value.code == "idempotency_key_reused"
    (record,) = bench.rows(run, "IDEMPOTENCY#")
    assert record["expires_at"] == bench.now // 1000 + 24 * 3_600


def test_a_tasks_place_in_the_frontier_survives_storage() -> None:
    token = Token(TokenStatus.WAITING, 1_700_000_500_000, 2, "abc", "code")
    head = Head("run-00", "default", "w", 1, "d", "assist", 1_700_000_000_000, frontier={"3.2.0/14.1": token})
    assert head_module.from_item(to_item(head)).frontier == head.frontier


def test_a_report_and_the_run_that_it_starts_are_stored_together() -> None:
    bench = _reporting()
    taken = bench.world.report("q1", {"key": "a"})
    row = bench.site.memory.get(report_key(taken.report_id))
    assert row is not None
    assert row["run_id"] == taken.run_id
    pointer = bench.site.memory.get(Key(Table.SUBJECTS, subject_pk("q1", "report", "subject-1"), "POINTER"))
    assert pointer is not None
    assert pointer["run_id"] == taken.run_id
    assert bench.site.memory.get(head_key(str(taken.run_id))) is not None


def test_an_update_never_makes_a_head() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    update = append_update(bench.ports, bench.head(run), Pointer("task", "review#1"))
    ghost = Update(head_key("run-none"), update.rules, update.set, update.remove, update.append)
    with pytest.raises(ConditionsFailed):
        bench.ports.store.write(ghost)
    assert bench.site.memory.get(head_key("run-none")) is None
