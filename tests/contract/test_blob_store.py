"""The blob store's contract, on every adapter."""

from __future__ import annotations

import uuid

from casegraph.application.ports import BlobStore


def test_a_body_comes_back_byte_by_byte(blobs: BlobStore) -> None:
    name = f"runs/{uuid.uuid4().hex}/digest"
    body = bytes(range(256)) * 8
    blobs.put(name, body)
    assert blobs.get(name) == body


def test_the_same_name_again_replaces(blobs: BlobStore) -> None:
    name = f"runs/{uuid.uuid4().hex}/digest"
    blobs.put(name, b"first")
    blobs.put(name, b"")
    assert blobs.get(name) == b""


def test_what_is_not_there_is_none_and_may_be_deleted(blobs: BlobStore) -> None:
    name = f"runs/{uuid.uuid4().hex}/digest"
    assert blobs.get(name) is None
    blobs.delete(name)
    blobs.put(name, b"x")
    blobs.delete(name)
    assert blobs.get(name) is None
