"""The local run's own sign-in: tokens signed with a key that is made at the first start (architecture.md 10).

No mode runs without identity: `casegraph dev` makes tokens here and verifies them as the JWT authorizer does on AWS.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from casegraph.adapters.clock import RandomIds, SystemClock
from casegraph.domain.canonical import digest
from casegraph.errors import Unauthenticated
from casegraph.limits import CLOCK_SKEW_MILLISECONDS

ISSUER = "casegraph-local"
AUDIENCE = "casegraph"
ALGORITHM = "ES256"
# A working week: long enough to try things, short enough for a token that was left in a shell.
TOKEN_SECONDS = 7 * 86_400
_KEY_FILE = "signing-key.pem"


class LocalTokens:
    """Issues and verifies tokens with the key in a directory; the key is made when there is none."""

    def __init__(self, directory: Path) -> None:
        self._key = _load_or_make(directory / _KEY_FILE)
        public = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self._key_id = digest(public.decode()).removeprefix("sha256:")[:16]
        self._clock, self._ids = SystemClock(), RandomIds()

    def issue(
        self,
        subject: str,
        *,
        roles: Iterable[str],
        queues: Iterable[str],
        seconds: int = TOKEN_SECONDS,
        roles_claim: str = "casegraph_roles",
        queues_claim: str = "casegraph_queues",
    ) -> str:
        """A token for a subject with its roles and the queues that it may see (`["*"]`: all)."""
        now = self._clock.now() // 1000
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": subject,
            "iat": now,
            "nbf": now,
            "exp": now + seconds,
            "jti": self._ids.new(),
            roles_claim: list(roles),
            queues_claim: list(queues),
        }
        return jwt.encode(claims, self._key, algorithm=ALGORITHM, headers={"kid": self._key_id})

    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token that this key signed, for this audience, and that is valid now.

        Raises `Unauthenticated`, which does not say more than a stranger may know.
        """
        try:
            if jwt.get_unverified_header(token).get("kid") != self._key_id:
                raise Unauthenticated("the token is signed with a key that is not this installation's")
            claims: dict[str, Any] = jwt.decode(
                token,
                self._key.public_key(),
                algorithms=[ALGORITHM],
                issuer=ISSUER,
                audience=AUDIENCE,
                leeway=CLOCK_SKEW_MILLISECONDS / 1000,
                options={"require": ["exp", "nbf", "iat", "iss", "aud", "sub"]},
            )
        except jwt.ExpiredSignatureError as exc:
            raise Unauthenticated("the token has expired; start `casegraph dev` again for a new one") from exc
        except jwt.InvalidTokenError as exc:
            raise Unauthenticated("the token is not valid here") from exc
        return claims


def _load_or_make(path: Path) -> ec.EllipticCurvePrivateKey:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey), (
            f"{path} is not an EC key; remove it to make a new one"
        )
        return key
    made = ec.generate_private_key(ec.SECP256R1())
    with os.fdopen(handle, "wb") as file:
        file.write(
            made.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return made
