"""Published versions as the engine loads them: by digest, verified, compiled once per process."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Protocol

from casegraph.application.ports import BlobStore, ItemStore
from casegraph.domain.graph.bundle import load_bundle
from casegraph.domain.graph.compiled import CompiledGraph, compile_bundle
from casegraph.domain.writes import Key, Table
from casegraph.errors import NeedsOperator

_CACHED_GRAPHS = 64


class Versions(Protocol):
    """Loads what a run is pinned to."""

    def graph(self, digest: str) -> CompiledGraph:
        """The compiled graph of a bundle. Raises `NeedsOperator("definition_changed")` when the stored bundle is
        missing or is not what the digest says."""

    def bundle(self, digest: str) -> dict[str, Any]:
        """The bundle itself (forms, schemas, messages)."""


def bundle_name(digest: str) -> str:
    """Blob name of a bundle."""
    return f"bundles/{digest.removeprefix('sha256:')}"


def version_key(workflow_key: str, version: int) -> Key:
    """Catalogue row of a published version."""
    return Key(Table.CATALOG, f"WORKFLOW#{workflow_key}", f"VERSION#{version:08d}")


class StoredVersions:
    """Bundles in the blob store, with a bounded cache by digest (a digest never changes its meaning)."""

    def __init__(self, store: ItemStore, blobs: BlobStore) -> None:
        self._store = store
        self._blobs = blobs
        self._graphs: OrderedDict[str, tuple[dict[str, Any], CompiledGraph]] = OrderedDict()

    def graph(self, digest: str) -> CompiledGraph:
        """See `Versions.graph`."""
        return self._load(digest)[1]

    def bundle(self, digest: str) -> dict[str, Any]:
        """See `Versions.bundle`."""
        return self._load(digest)[0]

    def _load(self, digest: str) -> tuple[dict[str, Any], CompiledGraph]:
        if digest in self._graphs:
            self._graphs.move_to_end(digest)
            return self._graphs[digest]
        body = self._blobs.get(bundle_name(digest))
        if body is None:
            raise NeedsOperator(f"the bundle {digest} is not stored", "definition_changed", digest=digest)
        bundle = load_bundle(body, digest)
        self._graphs[digest] = (bundle, compile_bundle(bundle))
        if len(self._graphs) > _CACHED_GRAPHS:
            self._graphs.popitem(last=False)
        return self._graphs[digest]
