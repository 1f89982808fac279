"""YAML 1.2 text as a tree with positions, styles and nothing resolved behind the author's back.

Built on ruamel.yaml's events, so that plain scalars are read by the core schema of YAML 1.2 alone: `off`, `NO`, `yes`,
dates and times are text. Anchors, aliases, merge keys and tags are not part of the source form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from casegraph.authoring.places import Entry, Path, Spot
from casegraph.limits import BODY_MAX_DEPTH

_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_INFINITE = re.compile(r"([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z")
NULLS = ("null", "Null", "NULL", "~")
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")


class YamlInvalid(Exception):
    """The text is no YAML that the source form takes: code, place and what to do."""

    def __init__(
        self, code: str, spot: Spot, message: str, hint: str = "", context: Spot | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.spot, self.message, self.hint = code, spot, message, hint
        # Where what the parser was reading began.
        self.context = context or spot


@dataclass(frozen=True, slots=True)
class Node:
    """One value. style: '' plain, or ' " | >; flow: a collection written with brackets; start, end: its text."""

    kind: Literal["scalar", "map", "list"]
    start: Spot
    end: Spot
    text: str = ""
    style: str = ""
    flow: bool = False
    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)

    @property
    def absent(self) -> bool:
        """Nothing is written where the value should be."""
        return self.kind == "scalar" and not self.style and not self.text

    def value(self) -> Any:
        """The plain value; keys are text as written."""
        if self.kind == "map":
            return {key.text: value.value() for key, value in self.pairs}
        if self.kind == "list":
            return [item.value() for item in self.items]
        return scalar(self.text) if not self.style else self.text


def scalar(text: str) -> Any:
    """A plain scalar by YAML 1.2's core schema (its chapter 10.3.2); anything else is text."""
    if text == "" or text in NULLS:
        return None
    if text in TRUE or text in FALSE:
        return text in TRUE
    if _INTEGER.match(text):
        return int(text)
    if _OCTAL.match(text):
        return int(text[2:], 8)
    if _HEX.match(text):
        return int(text[2:], 16)
    if _FLOAT.match(text) or _INFINITE.match(text):
        return float(text.replace(".", "", 1) if _INFINITE.match(text) else text)
    return text


@dataclass(frozen=True)
class Tree:
    """A document's tree (None: it is empty) and what is wrong in it, as far as one can read on."""

    root: Node | None
    faults: list[YamlInvalid]


def parse(text: str) -> Tree:
    """The tree of a text. Raises `YamlInvalid` where one cannot read on."""
    yaml = YAML(typ="safe", pure=True)
    reader = _Reader()
    try:
        return Tree(reader.document(yaml.parse(text)), reader.faults)
    except MarkedYAMLError as exc:
        spot = _marked(exc.problem_mark or exc.context_mark)
        context = _marked(exc.context_mark or exc.problem_mark)
        what = str(exc.problem or exc.context)
        text = f"this is no YAML: {what}"
        raise YamlInvalid("malformed_yaml", spot, text, _hint(what), context) from exc
    except ReaderError as exc:
        before = text[: exc.position]
        spot = Spot(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
        raise YamlInvalid("malformed_yaml", spot, "a control character is no part of a text file") from exc
    except YAMLError as exc:
        raise YamlInvalid("malformed_yaml", Spot(1, 1), "this is no YAML") from exc


def _marked(mark: Any) -> Spot:
    return Spot(1, 1) if mark is None else Spot(mark.line + 1, mark.column + 1)


def _hint(problem: str) -> str:
    if problem.startswith("mapping values are not allowed"):
        return "quote a text that holds a colon and a space: '...'"
    if "\\t" in problem:
        return "indent with spaces"
    return ""


def entries(root: Node) -> dict[Path, Entry]:
    """Where each value and its key stand, by path."""
    found: dict[Path, Entry] = {(): Entry(root.start, root.start, root.kind == "scalar")}

    def walk(node: Node, path: Path) -> None:
        for key, value in node.pairs:
            found[(*path, key.text)] = _entry(key.start, value)
            walk(value, (*path, key.text))
        for index, item in enumerate(node.items):
            found[(*path, index)] = _entry(item.start, item)
            walk(item, (*path, index))

    walk(root, ())
    return found


def _entry(key: Spot, value: Node) -> Entry:
    is_scalar = value.kind == "scalar" and not value.absent
    quote = 1 if value.style in ("'", '"') else 0
    one_line = is_scalar and value.start.line == value.end.line and value.style in ("", "'", '"')
    letters = one_line and value.end.column - value.start.column == len(value.text) + 2 * quote
    return Entry(key, value.start, is_scalar, quote if letters else None)


_WRITE_OUT = "write it out, or use `defaults`"
_DOCUMENT_MARKS = (
    "StreamStartEvent",
    "StreamEndEvent",
    "DocumentStartEvent",
    "DocumentEndEvent",
    "CommentEvent",
)


class _Reader:
    """Events to one tree."""

    def __init__(self) -> None:
        self.faults: list[YamlInvalid] = []

    def document(self, events: Iterator[Any]) -> Node | None:
        root: Node | None = None
        for event in events:
            name = type(event).__name__
            if name == "DocumentStartEvent" and root is not None:
                text = "a workflow is one document; `---` begins a second one"
                raise YamlInvalid("several_documents", _start(event), text, "put it into a file of its own")
            if name not in _DOCUMENT_MARKS:
                root = self._node(event, events, 0)
        return root

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        name, start = type(event).__name__, _start(event)
        self._refuse_indirection(event, name, start)
        if depth > BODY_MAX_DEPTH:
            raise YamlInvalid("too_deep", start, f"nested deeper than {BODY_MAX_DEPTH} levels")
        if name == "ScalarEvent":
            return Node("scalar", start, _end(event), text=event.value, style=_style(event))
        if name == "AliasEvent":
            return Node("scalar", start, _end(event), text=event.anchor, style="'")
        flow = bool(event.flow_style)
        if name == "SequenceStartEvent":
            items: list[Node] = []
            while type(following := next(events)).__name__ != "SequenceEndEvent":
                items.append(self._node(following, events, depth + 1))
            return Node("list", start, _end(following), flow=flow, items=items)
        pairs: list[tuple[Node, Node]] = []
        names: set[str] = set()
        while type(following := next(events)).__name__ != "MappingEndEvent":
            key = self._node(following, events, depth + 1)
            self._check_key(key, names)
            pairs.append((key, self._node(next(events), events, depth + 1)))
        return Node("map", start, _end(following), flow=flow, pairs=pairs)

    def _check_key(self, key: Node, names: set[str]) -> None:
        if key.kind != "scalar":
            text = "a key is a name, not a list or a map"
            self._fault("key_not_text", key.start, text, "quote it if it is meant to be text")
        elif key.text == "<<" and not key.style:
            self._fault("no_merge_keys", key.start, "merge keys are no part of the source form", _WRITE_OUT)
        elif key.text in names:
            self._fault("duplicate_key", key.start, f"key {key.text!r} stands twice in one map")
        names.add(key.text)

    def _refuse_indirection(self, event: Any, name: str, start: Spot) -> None:
        if name == "AliasEvent" or getattr(event, "anchor", None) is not None:
            hint = f"{_WRITE_OUT}; quote a text that starts with & or *"
            self._fault("no_anchors", start, "anchors and aliases are no part of the source form", hint)
        tag = getattr(event, "tag", None)
        if tag is not None and str(tag) not in ("None", "!"):
            hint = "remove it; quote a text that starts with !"
            self._fault("no_tags", start, "tags are no part of the source form", hint)

    def _fault(self, code: str, spot: Spot, message: str, hint: str = "") -> None:
        self.faults.append(YamlInvalid(code, spot, message, hint))


def _style(event: Any) -> str:
    return event.style if event.style in ("'", '"', "|", ">") else ""


def _start(event: Any) -> Spot:
    return Spot(event.start_mark.line + 1, event.start_mark.column + 1)


def _end(event: Any) -> Spot:
    return Spot(event.end_mark.line + 1, event.end_mark.column + 1)
