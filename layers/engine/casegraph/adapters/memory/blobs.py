"""The blob store in memory."""

from __future__ import annotations

from threading import Lock


class MemoryBlobStore:
    """The `BlobStore` port in memory."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}
        self._lock = Lock()

    def put(self, name: str, body: bytes) -> None:
        """See `BlobStore.put`."""
        with self._lock:
            self._bodies[name] = bytes(body)

    def get(self, name: str) -> bytes | None:
        """See `BlobStore.get`."""
        with self._lock:
            return self._bodies.get(name)

    def delete(self, name: str) -> None:
        """See `BlobStore.delete`."""
        with self._lock:
            self._bodies.pop(name, None)

    def names(self, prefix: str = "") -> list[str]:
        """The names that start with `prefix`, in order: for checkers."""
        with self._lock:
            return sorted(name for name in self._bodies if name.startswith(prefix))
