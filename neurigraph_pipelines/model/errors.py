"""The errors that Neurigraph raises.

Faces map them to exit codes and HTTP statuses. A message is one sentence for a person and names the remedy if there is
one. An adapter that wraps an error of a library defines a subclass of one of these.
"""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

Value = TypeVar("Value")


class NeurigraphError(Exception):
    """Base class of all errors that Neurigraph raises."""


class ConfigurationError(NeurigraphError):
    """A setting is missing, contradictory or unusable."""


class AlreadyRunningError(NeurigraphError):
    """Another process does this on the same home folder, and only one may."""


class InvalidInputError(NeurigraphError):
    """The input is not acceptable; nothing was stored."""


class UnreadableFileError(InvalidInputError):
    """A file is damaged, or reading it exceeds a limit; no other file is affected."""


class NotFoundError(NeurigraphError):
    """Absent, or not visible to the caller; no message distinguishes the two."""

    def __init__(self, what: str = "not found") -> None:
        super().__init__(what)


class UnauthenticatedError(NeurigraphError):
    """The request has no valid key or token."""


class ForbiddenError(NeurigraphError):
    """The caller is known and has no right to this operation."""


class ConflictError(NeurigraphError):
    """The request contradicts the stored state, such as a slug that is taken."""


class ChangedError(ConflictError):
    """The object has changed since the caller read it; nothing was stored."""


class RunningError(ConflictError):
    """The same request is running, or has just ended: repeat it in a moment."""


class ForgettingError(RunningError):
    """The caller is being forgotten: nothing more is stored, and the key has ended."""


class ForgottenError(NeurigraphError):
    """The caller was forgotten: the key or token stands for nobody any more."""


class TransientError(NeurigraphError):
    """A fault of a network or provider that may pass: a retry may succeed."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        """Make the error.

        Args:
            message: One sentence for a person.
            retry_after: Seconds to wait that the provider requested, if it did.
        """
        super().__init__(message)
        self.retry_after = retry_after


class TooOftenError(TransientError):
    """The caller tried something too often; ``retry_after`` says when it is possible again."""


class ClockError(TransientError):
    """The clocks of this program and of the database differ by more than the database accepts."""


class NodeGoneError(NotFoundError, TransientError):
    """A node was dropped after it was looked up; a retry finds its successor, or nothing."""


class RehydratingError(NeurigraphError):
    """Another worker is decompressing the file: not a fault, retry later."""

    def __init__(self, message: str, *, retry_after_seconds: float) -> None:
        """Make the error.

        Args:
            message: One sentence for a person.
            retry_after_seconds: Estimated seconds until the rehydration is done.
        """
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class StepTimeoutError(NeurigraphError):
    """A step took more processor time for one segment than the settings permit; no other segment is affected."""


class ProviderError(NeurigraphError):
    """A permanent error of a model provider: a refusal, bad credentials or an unusable answer."""


class AccountError(ProviderError):
    """A provider refuses every request of the account: the key is missing or wrong, or there is no credit left."""


class RefusedError(AccountError):
    """A provider refuses with status 403, which may be about the account or about this content."""


class StorageError(NeurigraphError):
    """The object store refused or is full; subclasses concern a single object."""


class LostObjectError(StorageError):
    """The content of an object cannot be read, and a retry does not help."""

    file_id: UUID | None = None
    """The stored file, if the object is one."""


class AbsentObjectError(LostObjectError):
    """No object has this key."""


class DamagedObjectError(LostObjectError):
    """An object is too short, or differs from the bytes that were written."""


def require_found(value: Value | None, what: str = "not found") -> Value:
    """Return a value that was looked for.

    Raises:
        NotFoundError: It is None.
    """
    if value is None:
        raise NotFoundError(what)
    return value


def is_for_operators(error: NeurigraphError) -> bool:
    """Return whether a message names hosts, folders, objects or settings, which callers of a face are not to see."""
    is_of_file = isinstance(error, LostObjectError) and error.file_id is not None
    return isinstance(error, ConfigurationError | StorageError) and not is_of_file
