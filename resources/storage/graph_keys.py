"""Data keys of graphs, wrapped by a master key and stored beside the objects that they encrypt.

A graph's keys are the objects below ``.keys/GRAPH/``, each under its id. They lie in the object store, since a restore
writes objects before it has a database. Any number of processes may make a key for one graph: each has a name of its
own, so none replaces another.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol
from uuid import UUID, uuid4

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from neurigraph_pipelines.model import KEYS
from neurigraph_pipelines.model.errors import AbsentObjectError, ConfigurationError, LostObjectError
from neurigraph_pipelines.model.ports import ObjectStore

_NAME_BYTES, _NONCE_BYTES, _KEY_BYTES = 8, 12, 32
_WRAPPED_BYTES = _NAME_BYTES + _NONCE_BYTES + _KEY_BYTES + 16


@dataclass(frozen=True, slots=True)
class MasterKey:
    """A key that wraps data keys."""

    key: bytes

    @classmethod
    def of(cls, secret: str) -> MasterKey:
        """Return the key that follows from a random text."""
        return cls(sha256(b"neurigraph master key\0" + secret.encode()).digest())

    @property
    def name(self) -> bytes:
        """Eight bytes that identify a key without revealing it."""
        return sha256(b"neurigraph master key name\0" + self.key).digest()[:_NAME_BYTES]


class MasterKeys(Protocol):
    """Where master keys come from."""

    def read(self, *, may_make: bool) -> Sequence[MasterKey]:
        """Return the current master key, and after it older ones that still unwrap.

        Args:
            may_make: Make one if there is none, since nothing is encrypted yet.

        Raises:
            ConfigurationError: There is none, or it cannot be read.
        """
        ...


class GraphKeys:
    """The data keys of all graphs in one object store."""

    def __init__(self, objects: ObjectStore, masters: MasterKeys) -> None:
        self._objects = objects
        self._masters = masters
        self._known: dict[tuple[str, UUID], bytes] = {}
        self._making = threading.Lock()

    def for_writing(self, graph: str) -> tuple[UUID, bytes]:
        """Return a data key of a graph that exists now, and make one if it has none.

        Raises:
            ConfigurationError: The master key is missing, or another one than wrapped the graph's keys.
        """
        found = self._existing(graph)
        if found is None:
            with self._making:  # threads that write the first objects of a graph share a key
                found = self._existing(graph) or self._make(graph)
        return found

    def _existing(self, graph: str) -> tuple[UUID, bytes] | None:
        error: ConfigurationError | None = None
        for key_id in self._ids(graph):
            try:
                return key_id, self.get(graph, key_id)
            except LostObjectError:  # destroyed meanwhile
                continue
            except ConfigurationError as unreadable:
                error = unreadable
        if error is not None:
            raise error
        return None

    def get(self, graph: str, key_id: UUID) -> bytes:
        """Return a data key.

        Raises:
            LostObjectError: The key was destroyed, so nothing decrypts what it encrypted.
            ConfigurationError: The master key is missing, or another one than wrapped it.
        """
        known = self._known.get((graph, key_id))
        if known is not None:
            return known
        try:
            wrapped = b"".join(self._objects.get(_name(graph, key_id)))
        except AbsentObjectError as error:
            raise LostObjectError(f"the key {key_id} was destroyed: its files are lost") from error
        data_key = _unwrapped(graph, key_id, wrapped, self._masters.read(may_make=False))
        self._known[graph, key_id] = data_key
        return data_key

    def opened_by(self) -> frozenset[bytes]:
        """Return the names of the master keys at hand.

        Raises:
            ConfigurationError: There is none, or it cannot be read.
        """
        return frozenset(master.name for master in self._masters.read(may_make=False))

    def wrapped_by(self) -> Iterator[tuple[str, UUID, bytes]]:
        """Yield each data key's graph and id, and the name of the master key that wraps it."""
        for graph, key_id in self._all():
            wrapped = b"".join(self._objects.get(_name(graph, key_id)))
            yield graph, key_id, wrapped[:_NAME_BYTES]

    def wrap_again(self) -> int:
        """Wrap all data keys by the current master key; a repetition after a crash does the rest.

        Returns:
            The number of keys that another master key wrapped.

        Raises:
            ConfigurationError: No master key unwraps one of them; the others are wrapped.
        """
        masters = self._masters.read(may_make=False)
        changed, failure = 0, None
        for graph, key_id, name in list(self.wrapped_by()):
            if name != masters[0].name:
                try:
                    wrapped = b"".join(self._objects.get(_name(graph, key_id)))
                    data_key = _unwrapped(graph, key_id, wrapped, masters)
                except ConfigurationError as error:
                    failure = error
                    continue
                self._objects.put(_name(graph, key_id), [_wrapped(graph, key_id, data_key, masters[0])])
                changed += 1
        if failure is not None:
            raise failure
        return changed

    def _make(self, graph: str) -> tuple[UUID, bytes]:
        key_id, data_key = uuid4(), os.urandom(_KEY_BYTES)
        master, another = None, next(self._all(), None)
        if another is not None:  # a wrong master key is an error before anything depends on it
            with suppress(LostObjectError):
                self.get(*another)
        # The master key may be replaced while the data key is written: it must not remain wrapped by the old one.
        while master != (now := self._masters.read(may_make=next(self._all(), None) is None)[0]):
            master = now
            self._objects.put(_name(graph, key_id), [_wrapped(graph, key_id, data_key, master)])
        self._known[graph, key_id] = data_key
        return key_id, data_key

    def _ids(self, graph: str) -> list[UUID]:
        return [UUID(key.rpartition("/")[2]) for key in self._objects.keys(f"{KEYS}{graph}/")]

    def _all(self) -> Iterator[tuple[str, UUID]]:
        for key in self._objects.keys(KEYS):
            graph, _, key_id = key.removeprefix(KEYS).rpartition("/")
            yield graph, UUID(key_id)


def _name(graph: str, key_id: UUID) -> str:
    return f"{KEYS}{graph}/{key_id}"


def _wrapped(graph: str, key_id: UUID, data_key: bytes, master: MasterKey) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return master.name + nonce + AESGCM(master.key).encrypt(nonce, data_key, _name(graph, key_id).encode())


def _unwrapped(graph: str, key_id: UUID, wrapped: bytes, masters: Sequence[MasterKey]) -> bytes:
    by_name = {master.name: master for master in masters}
    master = by_name.get(wrapped[:_NAME_BYTES])
    if master is None and len(wrapped) == _WRAPPED_BYTES:
        raise ConfigurationError(
            f"another master key ({wrapped[:_NAME_BYTES].hex()}) wraps the keys of the files: put that one back, as "
            "`master_key` of the home folder or as what NEURIGRAPH_MASTER_KEY_COMMAND prints. Nothing is lost"
        )
    nonce, ciphertext = wrapped[_NAME_BYTES : _NAME_BYTES + _NONCE_BYTES], wrapped[_NAME_BYTES + _NONCE_BYTES :]
    try:
        if master is None:
            raise InvalidTag
        return AESGCM(master.key).decrypt(nonce, ciphertext, _name(graph, key_id).encode())
    except (InvalidTag, ValueError) as error:
        raise LostObjectError(f"the key {key_id} is damaged: put back `.keys` of the object store") from error
