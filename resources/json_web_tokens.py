"""Verify JSON Web Tokens that other services signed: HS256 with a shared secret, RS256 with the keys of one address.

Belongs here: the check that a token is genuine and meant for this installation, and fetching the key set (RFC 7517)
from the configured address only. ``access`` and the database decide what a genuine token allows.
"""

from __future__ import annotations

import logging
import threading
import time
from ipaddress import ip_address
from urllib.parse import urlsplit

import jwt
from jwt import PyJWK, PyJWKSet, PyJWTError

from neurigraph_pipelines.model.errors import ConfigurationError, TransientError, UnauthenticatedError
from neurigraph_pipelines.views.scalars import WireObject
from resources.outgoing_request import send

MAX_KEY_SET_BYTES = 1 << 20
LEAST_SECONDS_BETWEEN_FETCHES = 30.0

FETCH_SECONDS = 5.0
_HEADERS = {"Accept": "application/json", "User-Agent": "neurigraph"}
_REFUSED = "this key or token is not valid"
_REQUIRED = ("exp", "aud", "iss", "sub")
_log = logging.getLogger("neurigraph.access")


class JsonWebTokens:
    """Implements ``ports.TokenVerifier``.

    Each algorithm works only with its own key: HS256 tokens are checked with the secret, RS256 tokens with an RSA key
    of the set, and any other algorithm is refused.

    Args:
        audience: Required in ``aud``.
        issuer: Required value of ``iss``.
        secret: Secret of HS256; None to refuse HS256.
        keys: Keys of RS256; None to refuse RS256.
        leeway_seconds: Tolerance for differing clocks.
        most_seconds: Longest remaining lifetime; longer tokens are refused, because they cannot be revoked.
    """

    def __init__(
        self,
        audience: str,
        issuer: str,
        *,
        secret: str | None = None,
        keys: KeySet | None = None,
        leeway_seconds: float,
        most_seconds: float,
    ) -> None:
        self._audience = audience
        self._issuer = issuer
        self._secret = secret
        self._keys = keys
        self._leeway = leeway_seconds
        self._most_seconds = most_seconds

    def verify(self, token: str) -> WireObject:
        """Return the claims of a genuine, current token for this installation.

        Raises:
            UnauthenticatedError: The token is invalid; only the log gives the reason.
            TransientError: The key set could not be fetched.
        """
        try:
            claims = self._decode(token)
            lasts_too_long = int(claims["exp"]) > time.time() + self._most_seconds + self._leeway
        except (PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            _log.info("a token was refused: %s", type(error).__name__)
            raise UnauthenticatedError(_REFUSED) from error
        if lasts_too_long:
            _log.info("a token was refused: it expires too late")
            raise UnauthenticatedError(_REFUSED)
        return claims

    def _decode(self, token: str) -> WireObject:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        key: str | PyJWK
        if algorithm == "HS256" and self._secret is not None:
            key = self._secret
        elif algorithm == "RS256" and self._keys is not None:
            key = self._keys.find(header.get("kid"))
        else:
            raise jwt.InvalidAlgorithmError
        return jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=self._audience,
            issuer=self._issuer,
            leeway=self._leeway,
            options={"require": list(_REQUIRED)},
        )


class KeySet:
    """The RSA keys of one address, fetched on first use and cached; threads may share an object.

    Args:
        url: https; http only for this machine.
        seconds: Lifetime of the cached keys.
        least_seconds: Shortest time between two fetches, so that not every token with an unknown key causes one.

    Raises:
        ConfigurationError: The address is not allowed.
    """

    def __init__(self, url: str, seconds: float, least_seconds: float = LEAST_SECONDS_BETWEEN_FETCHES) -> None:
        try:
            parts = urlsplit(url)
            parts.port  # noqa: B018 - reading it checks it
        except ValueError as error:
            raise ConfigurationError("NEURIGRAPH_JWT_JWKS_URL is not an address") from error
        host = parts.hostname
        if not host or not (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))):
            raise ConfigurationError(
                "NEURIGRAPH_JWT_JWKS_URL must begin with https:// and name a host: its answer decides who is let in"
            )
        self._url = url
        self._seconds = seconds
        self._least_seconds = least_seconds
        self._keys: dict[str | None, PyJWK] = {}
        self._fetched_at = -float("inf")
        self._tried_at = -float("inf")
        self._lock = threading.Lock()

    def find(self, key_id: object) -> PyJWK:
        """Return the key with that id, or the only key of the set if no id is given.

        Raises:
            InvalidKeyError: The set has no such key.
            TransientError: The keys could not be fetched.
        """
        with self._lock:
            now = time.monotonic()
            outdated = now - self._fetched_at > self._seconds
            if (outdated or key_id not in self._keys) and now - self._tried_at > self._least_seconds:
                self._tried_at = now
                self._keys = _by_id(self._fetch())
                self._fetched_at = now
            elif outdated:
                raise _unavailable()
            found = self._keys.get(key_id if isinstance(key_id, str) else None)
        if found is None:
            raise jwt.InvalidKeyError
        return found

    def _fetch(self) -> bytes:
        """Fetch the key set, without following redirects or using a proxy."""
        try:
            answer = send("GET", self._url, headers=_HEADERS, seconds=FETCH_SECONDS, max_bytes=MAX_KEY_SET_BYTES + 1)
        except OSError as error:
            raise _failed(str(error)) from error
        if answer.status != 200 or len(answer.body) > MAX_KEY_SET_BYTES:
            raise _failed(f"status {answer.status}, {len(answer.body)} bytes")
        return answer.body


def _by_id(body: bytes) -> dict[str | None, PyJWK]:
    """Return the keys for RS256 signatures by id; a single key also under None."""
    try:
        found = PyJWKSet.from_json(body.decode()).keys
    except (PyJWTError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise _failed(type(error).__name__) from error
    usable = [
        key
        for key in found
        if key.key_type == "RSA" and key.public_key_use in (None, "sig") and key.algorithm_name == "RS256"
    ]
    keys: dict[str | None, PyJWK] = {key.key_id: key for key in usable if key.key_id}
    return keys | {None: usable[0]} if len(usable) == 1 else keys


def _failed(why: str) -> TransientError:
    _log.error("the key set of NEURIGRAPH_JWT_JWKS_URL cannot be fetched: %s", why)
    return _unavailable()


def _unavailable() -> TransientError:
    return TransientError("the keys that verify tokens cannot be fetched", retry_after=LEAST_SECONDS_BETWEEN_FETCHES)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
