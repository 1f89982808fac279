"""protocol.md 4: index, jobs, timers."""

# ruff: noqa: E501 - source text is quoted as it stands
from __future__ import annotations

from tests.protocol.vocabulary import ADVANCE, DRAFT, HEAD, HINTS, LIMITS, RECONCILE, Drop, Rule, Swap, rule

SECTION_4: tuple[Rule, ...] = (
    rule(
        "4",
        "64 shards",
        "head.shard_of",
        "test_4_index_and_jobs.py::test_heads_spread_evenly_over_64_shards",
        Swap(LIMITS, "INDEX_SHARDS = 64", "INDEX_SHARDS = 16"),
    ),
    rule(
        "4",
        "Three exclusive classes: w by wake_at, p by paused.until, g by purge time",
        "head.due_class",
        "test_4_index_and_jobs.py::test_a_head_is_in_exactly_one_class_and_its_instant_says_when_it_is_looked_at",
        Swap(
            HEAD,
            'return f"p#{shard}", head.paused.until or FAR_FUTURE_AT',
            'return f"p#{shard}", FAR_FUTURE_AT',
        ),
        Swap(HEAD, "if head.terminal and not head.closing:", "if head.terminal:"),
        Swap(HEAD, "if head.paused is not None and not head.terminal:", "if False:"),
    ),
    rule(
        "4",
        "Nothing due: far future",
        "head.due_class",
        "test_4_index_and_jobs.py::test_a_head_for_which_nothing_is_due_waits_in_the_far_future",
        Swap(
            HEAD,
            'return f"w#{shard}", FAR_FUTURE_AT if head.wake_at is None else head.wake_at',
            'return f"w#{shard}", head.wake_at or 0',
        ),
    ),
    rule(
        "4",
        "An ended run is not among the paused",
        "head.due_class",
        "test_4_index_and_jobs.py::test_a_paused_run_that_ended_is_no_longer_among_the_paused",
        Swap(
            HEAD,
            "    if head.terminal and not head.closing:\n        return",
            "    if head.paused is None and head.terminal and not head.closing:\n        return",
        ),
    ),
    rule(
        "4",
        "Attention index beside the class: a branch in attention hides no timer",
        "head.to_item",
        "test_4_index_and_jobs.py::test_a_branch_in_attention_is_listed_and_does_not_hide_another_branch_s_timer",
        Swap(HEAD, "if head.in_attention and not head.terminal:", "if head.attention is not None:"),
        Swap(DRAFT, "(self.base.attention_at or recorded_at)", "(recorded_at)"),
    ),
    rule(
        "4",
        "... and for run attention",
        "head.to_item",
        "test_4_index_and_jobs.py::test_run_attention_is_listed_too",
        Swap(HEAD, "return self.attention is not None or any(", "return any("),
    ),
    rule(
        "4",
        "A job is sent after the commit",
        "hints",
        "test_4_index_and_jobs.py::test_a_job_is_sent_after_the_commit",
        Swap(
            ADVANCE,
            "        outcome = commit(self.ports, self.head, plan, release=release, also=linked.writes)\n",
            "        for ref, due_at in plan.effects:\n            hints.effect_due(self.ports, self.head.run_id, ref, due_at)\n        outcome = commit(self.ports, self.head, plan, release=release, also=linked.writes)\n",
        ),
    ),
    rule(
        "4",
        "... best effort, counted on failure",
        "hints._send",
        "test_4_index_and_jobs.py::test_a_job_that_cannot_be_sent_fails_nothing_and_is_counted",
        Swap(HINTS, '        ports.journal.count("job_send_failed")', "        raise"),
    ),
    rule(
        "4",
        "A job for a run due within 120 s is sent again with that delay",
        "advance_run._nothing_to_claim",
        "test_4_index_and_jobs.py::test_a_job_for_a_run_due_within_120_s_is_sent_again_with_that_delay",
        Swap(
            ADVANCE,
            "        hints.run_due(ports, run_id, head.wake_at)\n        return Advanced.NOT_YET",
            "        return Advanced.NOT_YET",
        ),
    ),
    rule(
        "4",
        "One that finds nothing due is acknowledged after one read and counted",
        "advance_run._nothing_to_claim",
        "test_4_index_and_jobs.py::test_a_job_that_finds_nothing_due_is_acknowledged_after_one_request_and_counted",
        Swap(ADVANCE, '    ports.journal.count("job_nothing_due")\n', ""),
        Swap(
            ADVANCE, "    claimed = lease.claim(", "    read_head(ports, run_id)\n    claimed = lease.claim("
        ),
    ),
    rule(
        "4",
        "A job for a leased run is not sent again and again",
        "advance_run._nothing_to_claim",
        "test_4_index_and_jobs.py::test_a_job_for_a_leased_run_is_not_sent_again_and_again",
        Swap(ADVANCE, "head.lease_until >= now - CLOCK_SKEW_MILLISECONDS", "head.lease_until > now"),
    ),
    rule(
        "4",
        "Writers send the delayed job themselves within 15 minutes",
        "hints._send",
        "test_4_index_and_jobs.py::test_a_writer_sends_the_delayed_job_itself_for_what_falls_due_within_15_minutes",
        Swap(LIMITS, "JOB_MAX_DELAY_MILLISECONDS = 900_000", "JOB_MAX_DELAY_MILLISECONDS = 100_000"),
        Swap(
            HINTS,
            "    if wait > JOB_MAX_DELAY_MILLISECONDS:\n        return  # the sweeper sends it when it falls due\n",
            "",
        ),
    ),
    rule(
        "4",
        "The sweep sends what falls due in the next 120 s",
        "reconcile._sweep_runs",
        "test_4_index_and_jobs.py::test_the_sweep_sends_what_falls_due_in_the_next_120_s_with_its_delay",
        Swap(LIMITS, "JOB_HOLD_MILLISECONDS = 120_000", "JOB_HOLD_MILLISECONDS = 60_000"),
    ),
    rule(
        "4",
        "... and what is overdue by more than 60 s",
        "reconcile._hint_run",
        "test_4_index_and_jobs.py::test_the_sweep_sends_what_is_overdue_by_more_than_60_s_and_leaves_the_rest_to_its_job",
        Swap(LIMITS, "SWEEP_OVERDUE_MILLISECONDS = 60_000", "SWEEP_OVERDUE_MILLISECONDS = 600_000"),
        Swap(LIMITS, "SWEEP_OVERDUE_MILLISECONDS = 60_000", "SWEEP_OVERDUE_MILLISECONDS = 0"),
    ),
    rule(
        "4",
        "Half of the budget from a rotating cursor",
        "reconcile._rotating",
        "test_4_index_and_jobs.py::test_runs_that_cannot_be_claimed_do_not_fill_the_sweep",
        Swap(RECONCILE, "    if len(items) == half:\n", "    if False:\n"),
        Swap(RECONCILE, 'start if cursor is None else cursor["after"]', "start"),
    ),
    rule(
        "4",
        "Half of the budget oldest first",
        "reconcile._due_keys",
        "test_4_index_and_jobs.py::test_the_oldest_are_always_among_the_swept",
        Swap(RECONCILE, "        items += _rotating(", "        items = _rotating("),
    ),
    rule(
        "4",
        "Holding back while the queue is deep",
        "reconcile._sweep_runs",
        "test_4_index_and_jobs.py::test_the_sweep_holds_back_while_the_queue_is_deep",
        Swap(
            RECONCILE,
            'ports.jobs.depth("advance_run")) > SWEEP_MAX_QUEUE_DEPTH:',
            'ports.jobs.depth("advance_run")) < 0:',
        ),
    ),
    rule(
        "4",
        "The sweep re-reads strongly what it acts on",
        "reconcile._hint_run",
        "test_4_index_and_jobs.py::test_the_sweep_reads_again_what_it_acts_on",
        Swap(
            RECONCILE,
            "if head.wake_at is None or (head.stopped and not cleanup):",
            "if head.wake_at is None:",
        ),
        Swap(RECONCILE, "if head.lease_until is not None and head.lease_until > now:", "if False:"),
    ),
    rule(
        "4",
        "reconcile resumes what is due among the paused",
        "reconcile._resume_one",
        "test_4_index_and_jobs.py::test_reconcile_resumes_a_pause_whose_time_is_over_and_no_other",
        Swap(RECONCILE, "    resume(ports, head.run_id, request)\n", "    pass\n"),
    ),
    rule(
        "4",
        "One broken item stops nothing",
        "reconcile._guarded",
        "test_4_index_and_jobs.py::test_one_broken_item_stops_nothing",
        Swap(
            RECONCILE,
            "    except Exception as failure:  # noqa: BLE001",
            "    except CasegraphError as failure:  #",
        ),
    ),
    rule(
        "4",
        "A lagging index changes nothing but time",
        "reconcile",
        "test_4_index_and_jobs.py::test_a_lagging_index_changes_nothing_but_time",
        Swap(
            RECONCILE, "    hints.run_due(ports, head.run_id, head.wake_at)\n    swept.runs", "    swept.runs"
        ),
    ),
    rule(
        "4",
        "A claim that is refused writes nothing",
        "rules.due",
        "test_4_index_and_jobs.py::test_a_claim_that_is_refused_writes_nothing",
        Drop("due"),
    ),
    rule(
        "4",
        "Numbers: 64 shards, 120 s, 60 s, 15 min",
        "limits",
        "test_numbers.py::test_a_number_of_the_protocol_is_the_one_in_limits",
        Swap(LIMITS, "INDEX_SHARDS = 64", "INDEX_SHARDS = 32"),
        Swap(LIMITS, "PAUSED_RECHECK_MILLISECONDS = 60_000", "PAUSED_RECHECK_MILLISECONDS = 600_000"),
    ),
)
