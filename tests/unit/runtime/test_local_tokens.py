"""Local tokens: only what this installation signed, for this audience, and now."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from casegraph.errors import Unauthenticated
from casegraph.runtime.local_tokens import AUDIENCE, ISSUER, LocalTokens

FAR = 4_102_444_800


@pytest.fixture
def tokens(tmp_path: Path) -> LocalTokens:
    return LocalTokens(tmp_path)


def test_a_token_says_who_and_what(tokens: LocalTokens) -> None:
    claims = tokens.verify(tokens.issue("anna", roles=["reviewer"], queues=["inbox"]))
    assert (claims["sub"], claims["casegraph_roles"], claims["casegraph_queues"]) == (
        "anna",
        ["reviewer"],
        ["inbox"],
    )


def test_the_key_is_made_once_and_is_only_the_owner_s(tmp_path: Path) -> None:
    token = LocalTokens(tmp_path).issue("anna", roles=[], queues=[])
    assert LocalTokens(tmp_path).verify(token)["sub"] == "anna"
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_token_of_another_installation_is_refused(tokens: LocalTokens, tmp_path: Path) -> None:
    other = LocalTokens(tmp_path / "other").issue("anna", roles=["admin"], queues=["*"])
    with pytest.raises(Unauthenticated):
        tokens.verify(other)


def test_an_expired_token_is_refused(tokens: LocalTokens) -> None:
    with pytest.raises(Unauthenticated, match="expired"):
        tokens.verify(tokens.issue("anna", roles=[], queues=[], seconds=-60))


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _unsigned(tokens: LocalTokens) -> str:
    head, body, _ = tokens.issue("anna", roles=[], queues=[]).split(".")
    kid = jwt.get_unverified_header(f"{head}.{body}.")["kid"]
    return f"{_part({'alg': 'none', 'typ': 'JWT', 'kid': kid})}.{body}."


def _with_public_key_as_secret(tokens: LocalTokens) -> str:
    head, body, _ = tokens.issue("anna", roles=[], queues=[]).split(".")
    return (
        f"{_part({'alg': 'HS256', 'kid': jwt.get_unverified_header(f'{head}.{body}.')['kid']})}.{body}.c2ln"
    )


def _changed(tokens: LocalTokens) -> str:
    head, body, signature = tokens.issue("anna", roles=["viewer"], queues=[]).split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return f"{head}.{_part({**claims, 'casegraph_roles': ['admin']})}.{signature}"


def _of_another_key(tokens: LocalTokens) -> str:
    kid = jwt.get_unverified_header(tokens.issue("anna", roles=[], queues=[]))["kid"]
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "anna", "iat": 0, "nbf": 0, "exp": FAR}
    return jwt.encode(
        claims, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256", headers={"kid": kid}
    )


@pytest.mark.parametrize(
    "forge",
    [_unsigned, _with_public_key_as_secret, _changed, _of_another_key, lambda _: "", lambda _: "a.b.c"],
)
def test_a_forged_token_is_refused(tokens: LocalTokens, forge: Callable[[LocalTokens], str]) -> None:
    with pytest.raises(Unauthenticated):
        tokens.verify(forge(tokens))


@pytest.mark.parametrize(
    "change", [{"iss": "another"}, {"aud": "another"}, {"nbf": FAR}, {"exp": None}, {"sub": None}]
)
def test_a_claim_that_is_wrong_or_missing_is_refused(tokens: LocalTokens, change: dict[str, Any]) -> None:
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "anna", "iat": 0, "nbf": 0, "exp": FAR, **change}
    present = {name: value for name, value in claims.items() if value is not None}
    token = jwt.encode(present, tokens._key, algorithm="ES256", headers={"kid": tokens._key_id})
    with pytest.raises(Unauthenticated):
        tokens.verify(token)
