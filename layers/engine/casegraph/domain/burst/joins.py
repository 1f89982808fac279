"""Joins: count the branches that have arrived and those that still can (architecture.md 6.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from casegraph.domain.burst.draft import Draft
from casegraph.domain.burst.knowledge import Knowledge
from casegraph.domain.burst.settle import move
from casegraph.domain.burst.visit import Visit
from casegraph.domain.place import Branch, Place, parse_key
from casegraph.domain.token import Token, TokenStatus


@dataclass(frozen=True, slots=True)
class Group:
    """The arrivals at one join in one pass of its fork: the branch path up to the fork, and the fork's pass."""

    join: int
    parent: Branch
    fork: int
    occurrence: int

    def holds(self, branch: Branch) -> bool:
        """Whether a branch path lies under this fork's pass."""
        depth = len(self.parent)
        if len(branch) <= depth or branch[:depth] != self.parent:
            return False
        return (branch[depth].fork, branch[depth].occurrence) == (self.fork, self.occurrence)


def settle_joins(draft: Draft, knowledge: Knowledge) -> bool:
    """Fire every join that is satisfied, give up those that cannot be; true when something changed."""
    changed = False
    for group in list(dict.fromkeys(_groups(draft))):
        changed = _settle(draft, knowledge, group) or changed
    return changed


def _groups(draft: Draft) -> Iterator[Group]:
    for _, place, _ in draft.tokens(TokenStatus.ARRIVED):
        level = place.branch[-1]
        yield Group(place.node, place.branch[:-1], level.fork, level.occurrence)


def _settle(draft: Draft, knowledge: Knowledge, group: Group) -> bool:
    members = {k: parse_key(k) for k in draft.frontier if group.holds(parse_key(k).branch)}
    arrived = sorted(
        k
        for k, p in members.items()
        if p.node == group.join and draft.frontier[k].status is TokenStatus.ARRIVED
    )
    if not arrived or _given_up(draft, group, members):
        return False
    required = _required(draft, group)
    if len(arrived) >= required:
        _fire(draft, knowledge, group, arrived, members)
        return True
    if len(arrived) + _possible(draft, group, members, arrived) < required:
        _give_up(draft, knowledge, group, arrived, members)
        return True
    return False


def _given_up(draft: Draft, group: Group, members: dict[str, Place]) -> bool:
    return any(
        p.node == group.join and draft.frontier[k].status is TokenStatus.ATTENTION for k, p in members.items()
    )


def _required(draft: Draft, group: Group) -> int:
    config = draft.graph.nodes[group.join].config
    branches = len(draft.graph.nodes[group.fork].ports)
    needed: int = {"all": branches, "any": 1}.get(config.mode, config.n or branches)
    return needed


def _possible(draft: Draft, group: Group, members: dict[str, Place], arrived: list[str]) -> int:
    """Branches, not yet arrived, of which some token can still reach the join."""
    depth = len(group.parent)
    done = {members[k].branch[depth].branch for k in arrived}
    return len(
        {
            p.branch[depth].branch
            for p in members.values()
            if p.branch[depth].branch not in done
            and (p.node == group.join or draft.graph.can_reach(p.node, group.join))
        }
    )


def _close_rest(draft: Draft, members: dict[str, Place], arrived: list[str]) -> None:
    for key in arrived:
        draft.frontier.pop(key)
    for key in sorted(members):
        if key in draft.frontier:
            draft.close(key, arrived[0])


def _fire(
    draft: Draft, knowledge: Knowledge, group: Group, arrived: list[str], members: dict[str, Place]
) -> None:
    depth = len(group.parent)
    ports = draft.graph.nodes[group.fork].ports
    names = [ports[members[k].branch[depth].branch] for k in arrived]
    _leave(draft, knowledge, group, arrived, members, "success", {"arrived": names})


def _leave(
    draft: Draft,
    knowledge: Knowledge,
    group: Group,
    arrived: list[str],
    members: dict[str, Place],
    port: str,
    output: dict[str, list[str]],
) -> None:
    level = members[arrived[0]].branch[: len(group.parent) + 1]
    _close_rest(draft, members, arrived)
    draft.forget(level)
    place = Place(group.parent, group.join, draft.occurrence(group.parent, group.join))
    draft.record(place, "succeeded", port, output)
    move(Visit(draft, knowledge, place, Token(TokenStatus.ARRIVED)), group.parent, port)


def _give_up(
    draft: Draft, knowledge: Knowledge, group: Group, arrived: list[str], members: dict[str, Place]
) -> None:
    """No branch that is missing can arrive any more: the declared port, or attention on the first arrival."""
    if "unsatisfied" in draft.graph.nodes[group.join].ports:
        depth = len(group.parent)
        ports = draft.graph.nodes[group.fork].ports
        names = [ports[members[k].branch[depth].branch] for k in arrived]
        _leave(draft, knowledge, group, arrived, members, "unsatisfied", {"arrived": names})
        return
    draft.change(arrived[0], Token(TokenStatus.ATTENTION, code="join_unsatisfiable"))
