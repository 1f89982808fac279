"""The context file: address and tokens of the local run, for its owner only."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from casegraph.client import context
from casegraph.client.context import Context
from casegraph.errors import InvalidInput, NotFound

SAVED = Context("http://127.0.0.1:7420", "admin", {"admin": "t1", "reviewer-1": "t2"})


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CASEGRAPH_URL", raising=False)
    monkeypatch.delenv("CASEGRAPH_TOKEN", raising=False)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    context.save(SAVED, tmp_path)
    assert context.load(tmp_path) == SAVED
    assert context.load(tmp_path).token == "t1"


def test_tokens_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    path = context.save(SAVED, tmp_path / "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_using_another_person_is_kept(tmp_path: Path) -> None:
    context.save(SAVED, tmp_path)
    context.use("reviewer-1", tmp_path)
    assert context.load(tmp_path).token == "t2"


def test_an_unknown_person_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    context.save(SAVED, tmp_path)
    with pytest.raises(NotFound, match="admin, reviewer-1"):
        context.use("nobody", tmp_path)
    assert context.load(tmp_path) == SAVED


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context.save(SAVED, tmp_path)
    monkeypatch.setenv("CASEGRAPH_URL", "https://api.example.org")
    monkeypatch.setenv("CASEGRAPH_TOKEN", "t3")
    assert (context.load(tmp_path).url, context.load(tmp_path).token) == ("https://api.example.org", "t3")


@pytest.mark.parametrize("content", ["{", "{}", "[]", '{"url": "x"}'])
def test_a_broken_file_says_how_to_get_a_new_one(tmp_path: Path, content: str) -> None:
    (tmp_path / "context.json").write_text(content)
    with pytest.raises(InvalidInput, match="casegraph dev"):
        context.load(tmp_path)
