"""Accounts of users: their statements about themselves, and the password that opens the page.

A password is for people in a browser; programs use keys. scrypt derives 32 bytes from it, and the database stores their
SHA-256 and compares. Users without a password, which is the default, cannot sign in with one.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
import unicodedata

from psycopg.types.json import Jsonb

from neurigraph_pipelines.access.authentication import api_key_hash, key_of, new_api_key, require_owner
from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import (
    ForbiddenError,
    InvalidInputError,
    TooOftenError,
    TransientError,
    UnauthenticatedError,
)
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.flat_metadata import flat_metadata
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.access import Account, SignedIn
from neurigraph_pipelines.views.scalars import ValuesByName

MAX_NAME = 300
MAX_EMAIL = 320
MIN_PASSWORD = 12
MAX_PASSWORD = 1_000
SESSION_SECONDS = 12 * 3600.0
"""Lifetime of the key that signing in returns."""

# OWASP, Password Storage Cheat Sheet (2025): N = 2^15, r = 8, p = 3, which takes 32 MiB.
_SCRYPT = {"n": 2**15, "r": 8, "p": 3, "maxmem": 2**26, "dklen": 32}
_ONE_AT_A_TIME = threading.Lock()
_WAIT_SECONDS = 5.0
_WRONG = "the name or the password is wrong"
_QUERIES = statements("accounts")


def get_account(database: Database, claims: Claims) -> Account:
    """Return the account of the owner of a graph.

    Raises:
        ForbiddenError: The caller is somebody else; so everywhere below.
    """
    require_owner(claims)
    for found in ask_views(database, claims, _QUERIES["account"], Account, {"user_id": claims.user_id}):
        return found
    raise ForbiddenError("only the owner of the graph may do this")


def change_account(database: Database, claims: Claims, changes: ValuesByName) -> Account:
    """Change an account.

    Args:
        changes: Of ``display_name``, ``email`` and ``metadata``, those that change; None removes one.

    Raises:
        InvalidInputError: A value is not acceptable.
    """
    require_owner(claims)
    metadata = changes.get("metadata")
    values = {
        "user_id": claims.user_id,
        "display_name": _display_name(changes.get("display_name")),
        "email": _email(changes.get("email")),
        "metadata": None if metadata is None else Jsonb(flat_metadata(metadata, _clean)),
        **{f"with_{name}": name in changes for name in ("display_name", "email", "metadata")},
    }
    with database.agent(claims) as tx:
        tx.execute(_QUERIES["change_account"], values)
    return get_account(database, claims)


def set_password(database: Database, claims: Claims, password: str | None) -> None:
    """Set the password, or remove it with None. All who signed in with the old one are signed out, save the caller.

    Raises:
        InvalidInputError: The password is too short or too long.
    """
    require_owner(claims)
    salt = secrets.token_bytes(16)
    derived = None
    if password is not None:
        if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
            raise InvalidInputError(f"a password has {MIN_PASSWORD} to {MAX_PASSWORD:,} characters")
        derived = _derived(password, salt)
    (row,) = database.ask(claims, _QUERIES["set_password"], {"salt": salt, "derived": derived})
    if not row["is_set"]:
        raise ForbiddenError("an organization has no password: its members sign in as themselves")


def sign_in(database: Database, secret: Secret, name: str, password: str) -> SignedIn:
    """Return a key for a name and a password.

    Unknown names, users without a password and wrong passwords take the same statements and the same work.

    Args:
        secret: Makes salts for names that have no password.
        name: The slug of the user.

    Raises:
        UnauthenticatedError: The name or the password is wrong.
        TooOftenError: Ten attempts with this name failed within a quarter of an hour.
        TransientError: Too many people sign in at once.
    """
    name = _clean(name)[:MAX_NAME]
    (row,) = database.ask(None, _QUERIES["salt_of"], {"name": name, "made": secret.salt_of(name)})
    key = new_api_key()
    values = {
        "name": name,
        "derived": _derived(password, row["salt"]),
        "key_hash": api_key_hash(key),
        "seconds": SESSION_SECONDS,
    }
    (done,) = database.ask(None, _QUERIES["sign_in"], values)
    if done["outcome"] == "too_often":
        with database.owner() as tx:
            closed = tx.execute(_QUERIES["closed_for"], {"name": name}).fetchone()
        seconds = max(1.0, closed["seconds"]) if closed is not None else 1.0
        minutes = math.ceil(seconds / 60)
        wait = f"{minutes} minutes" if minutes > 1 else "a minute"
        raise TooOftenError(f"too many wrong passwords for this name: wait {wait}", retry_after=seconds)
    if done["outcome"] is None:
        raise UnauthenticatedError(_WRONG)
    return SignedIn(key_id=done["key_id"], api_key=key_of(key, done["person"]), expires_at=done["expires"])


def _derived(password: str, salt: bytes) -> bytes:
    """Return 32 bytes derived from a password. One at a time, because each takes 32 MiB and a tenth of a second."""
    if not _ONE_AT_A_TIME.acquire(timeout=_WAIT_SECONDS):
        raise TransientError("too many people sign in at once: try again", retry_after=_WAIT_SECONDS)
    try:
        written = unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
        return hashlib.scrypt(written, salt=salt, **_SCRYPT)
    finally:
        _ONE_AT_A_TIME.release()


def _clean(text: str) -> str:
    return clean_text(text, "repair")[0]


def _display_name(text: str | None) -> str | None:
    if text is None:
        return None
    name = " ".join(_clean(text).split())
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise InvalidInputError(f"a name has 1 to {MAX_NAME} printable characters")
    return name


def _email(text: str | None) -> str | None:
    if text is None:
        return None
    address = _clean(text).strip()
    before, _, after = address.rpartition("@")
    if not before or not after or len(address) > MAX_EMAIL or any(c.isspace() or not c.isprintable() for c in address):
        raise InvalidInputError(f"an e-mail address has the form NAME@HOST and at most {MAX_EMAIL} characters")
    return address
