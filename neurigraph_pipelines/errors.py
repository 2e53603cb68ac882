"""Every error that Neurigraph raises on purpose.

Faces map these to exit codes and HTTP statuses; nothing here knows about either. A message is one sentence for a
person, with the remedy where there is one. Errors that merely wrap a library's own belong to the adapter that
raises them, as a subclass of one of these.
"""

from __future__ import annotations


class NeurigraphError(Exception):
    """Base of all intended errors."""


class ConfigurationError(NeurigraphError):
    """A setting is missing, contradictory or points at something unusable."""


class InvalidInputError(NeurigraphError):
    """What was handed in cannot be accepted; nothing was stored."""


class UnreadableFileError(InvalidInputError):
    """A file is damaged, or reading it takes more than it may; no other file is affected."""


class NotFoundError(NeurigraphError):
    """Absent, or not visible to whoever asks: the two are never told apart."""

    def __init__(self, what: str = "not found") -> None:
        super().__init__(what)


class UnauthenticatedError(NeurigraphError):
    """No valid key or token came with the request."""


class ForbiddenError(NeurigraphError):
    """The caller is known and may not do this kind of thing at all."""


class ConflictError(NeurigraphError):
    """The request contradicts what is stored, such as a slug that is taken."""


class TransientError(NeurigraphError):
    """A fault of a network or provider that may pass; worth another attempt."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        """Remember how long the other side asked to be left alone.

        Args:
            message: One sentence for a person.
            retry_after: Seconds the provider asked for, when it said so.
        """
        super().__init__(message)
        self.retry_after = retry_after


class NodeGoneError(NotFoundError, TransientError):
    """A node was dropped after it was looked up: another look finds what took its place, or nothing."""


class RehydratingError(NeurigraphError):
    """A file is being decompressed by somebody else: not a fault, only not yet."""

    def __init__(self, message: str, *, retry_after_seconds: float) -> None:
        """Remember when it is worth asking again.

        Args:
            message: One sentence for a person.
            retry_after_seconds: Roughly how long the rehydration will still take.
        """
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class ProviderError(NeurigraphError):
    """A model provider answered with something final: a refusal, bad credentials, an unusable answer."""


class StorageError(NeurigraphError):
    """The object store refused, or has no room; as its subclasses, what is wrong with one object instead."""


class LostObjectError(StorageError):
    """What an object should hold cannot be read, and asking again does not help: the object is at fault."""


class AbsentObjectError(LostObjectError):
    """There is no object of that key."""


class DamagedObjectError(LostObjectError):
    """An object ends too early, or is not what was written."""
