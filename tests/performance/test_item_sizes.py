"""Spike, kept: the head, segment and index items with measured sizes and write units (printed with `pytest -s`)."""

from __future__ import annotations

from casegraph.adapters.indexes import INDEXES
from casegraph.adapters.sizes import item_size
from casegraph.adapters.units import index_entry, write_units
from casegraph.domain.head import HEAD_SK, run_pk
from casegraph.domain.token import Token, TokenStatus, encode
from casegraph.domain.writes import Item, Table
from tests.performance.metered import START_AT, Metered
from tests.performance.test_counted_costs import review_graph

KILOBYTE = 1_024


def rows_of_a_waiting_run() -> dict[str, Item]:
    site = Metered()
    run_id = site.start(site.publish(review_graph()), {"text": "mild"})
    site.burst(run_id)
    return {key.sk: item for key, item in site.memory.items().items() if key.pk == run_pk(run_id)}


def test_the_head_of_a_simple_run_fits_one_write_unit() -> None:
    rows = rows_of_a_waiting_run()
    for sk, item in sorted(rows.items()):
        units = write_units(None, item, in_transaction=False)
        print(f"\n{sk}: {item_size(item)} bytes, {units} write units (twice in a transaction)")
    assert item_size(rows[HEAD_SK]) <= KILOBYTE
    assert all(item_size(item) <= KILOBYTE for sk, item in rows.items() if sk.startswith("SEG#"))


def test_an_index_entry_is_keys_only_and_small() -> None:
    rows = rows_of_a_waiting_run()
    for index in (i for i in INDEXES if i.table is Table.RUNS):
        for sk, item in rows.items():
            if index.partition in item:
                size = item_size(index_entry(index, item))
                print(f"\n{index.name} of {sk}: {size} bytes")
                assert size <= 200


def test_a_token_takes_about_24_bytes_in_the_head() -> None:
    week = Token(TokenStatus.WAITING, START_AT + 7 * 86_400_000)
    stored = len("14.1") + len(encode(week, START_AT)) + 4
    print(f"\na wait at the root: {stored} bytes with what DynamoDB counts for a map member")
    assert stored <= 24
