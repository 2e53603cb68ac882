"""A token issuer: its keys, and a real server with the public ones."""

from __future__ import annotations

import json
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm

AUDIENCE = "neurigraph"
ISSUER = "https://issuer.example"
TOKEN_SECRET = "a secret shared with the signer, and long enough for any algorithm that is tried with it"


class TokenIssuer:
    """Signs tokens, and serves its key set on loopback, for a ``with`` statement.

    Attributes:
        keys: By id; those of ``withheld`` are not in the key set.
        answer: What is answered in place of the key set, status and body, if it is set.
        fetches: How often the key set was asked for.
    """

    def __init__(self) -> None:
        self.keys: dict[str, RSAPrivateKey] = {"first": _first_key()}
        self.withheld: set[str] = set()
        self.answer: tuple[int, bytes, dict[str, str]] | None = None
        self.fetches = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetches += 1
                status, body, headers = issuer.answer or (200, issuer.key_set(), {})
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> TokenIssuer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address of the key set."""
        return f"http://127.0.0.1:{self._server.server_port}/keys"

    def key_set(self) -> bytes:
        """The public keys (RFC 7517)."""
        shown = {name: key for name, key in self.keys.items() if name not in self.withheld}
        return json.dumps(
            {
                "keys": [
                    {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": name, "use": "sig", "alg": "RS256"}
                    for name, key in shown.items()
                ]
            }
        ).encode()

    def sign(self, claims: dict[str, Any], key: str = "first", headers: dict[str, Any] | None = None) -> str:
        """Return a token signed with RS256."""
        return jwt.encode(claims, self.keys[key], "RS256", headers={"kid": key, **(headers or {})})


def new_key() -> RSAPrivateKey:
    """A key pair of 2,048 bits."""
    return generate_private_key(public_exponent=65537, key_size=2048)


@cache
def _first_key() -> RSAPrivateKey:
    """Return a cached key pair, since finding primes is slow."""
    return new_key()


def token_claims(user_id: UUID, /, **changes: Any) -> dict[str, Any]:
    """Claims of a user's own token, with changes; a claim that is None is left out."""
    now = int(time.time())
    claims = {"sub": str(user_id), "aud": AUDIENCE, "iss": ISSUER, "iat": now, "exp": now + 600, **changes}
    return {name: value for name, value in claims.items() if value is not None}
