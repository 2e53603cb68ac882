"""Calls to a model provider, with bounded attempts, time and concurrency, and our own errors.

Belongs here: the SDK client, the distinction between temporary and permanent errors, retries, and concurrency. Rate
limits are in ``providers.pace``; requests and answers in ``providers.embedder`` and ``providers.language_model``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from json import JSONDecodeError
from typing import TYPE_CHECKING, TypeVar

from neurigraph_pipelines.model.errors import AccountError, ProviderError, RefusedError, TransientError
from resources.providers.pace import Pace, requested_wait

if TYPE_CHECKING:
    from httpx import Response
    from openai import APIStatusError, OpenAI
    from tenacity import RetryCallState

T = TypeVar("T")

UNUSABLE_RETRIES = 2
"""Retries after an unusable answer: each costs as much as a good one."""

LONGEST_WAIT_SECONDS = 20.0

_DEADLINE_TIMEOUTS = 3.0
"""A call is not retried after this many times the timeout of one attempt."""

_RETRIED_STATUS = frozenset({408, 409, 425, 429})
"""Statuses below 500 that are retried."""


class SlowAnswerError(TransientError):
    """No answer came in time: a shorter one might."""


class UnusableAnswerError(ProviderError):
    """The provider's answer cannot be used; another attempt may give a better one."""


class ProviderClient:
    """The client of one service that speaks the OpenAI protocol.

    Every call is retried up to ``max_retries`` times after a temporary error, with exponential backoff and full jitter,
    or after the pause that the service asked for, whichever is longer. If the wait would exceed ``longest``, the call
    fails at once and reports the pause. At most ``concurrency`` calls run at a time, over all threads; waits between
    attempts do not count. The service's limits and ``pace`` apply to all calls together; waiting for a free slot or
    for ``pace`` does not count towards ``longest``.

    Args:
        service: Its name in messages, such as ``OpenAI``.
        api_key: Never shown. Where it is an error, there is no key, and every call raises it.
        base_url: Address of a compatible server; None for OpenAI's own.
        timeout: Seconds to wait for one answer.
        max_retries: Attempts after the first.
        concurrency: Calls at the same time.
        first_wait: Longest wait before the second attempt in seconds; doubles with each.
        pace: Enforces limits per minute; by default only the service's own limits apply.
        longest: Seconds after which no further attempt starts; by default three timeouts.
    """

    def __init__(
        self,
        service: str,
        api_key: str | AccountError,
        base_url: str | None,
        timeout: float,
        max_retries: int,
        concurrency: int,
        first_wait: float = 0.5,
        pace: Pace | None = None,
        longest: float | None = None,
    ) -> None:
        self.service = service
        self.concurrency = concurrency
        self._api_key = api_key
        self._base_url = base_url
        self._timeout = timeout
        self._max_retries = max_retries
        self._longest = longest or _DEADLINE_TIMEOUTS * timeout
        self._first_wait = first_wait
        self._pace = pace or Pace(service)
        self._slots = threading.BoundedSemaphore(concurrency)
        self._opening = threading.Lock()
        self._client: OpenAI | None = None

    def call(self, ask: Callable[[OpenAI], T], tokens: int = 0) -> T:
        """Make one call.

        Args:
            ask: Sends one request and reads the answer; raises ``UnusableAnswerError`` if it cannot use it.
            tokens: About how many tokens the request takes.

        Raises:
            TransientError: Every attempt failed, or the service asked for a longer pause than there is time for.
            AccountError: The service refuses the account: no other call would fare better.
            ProviderError: Permanently refused, or unusable more than ``UNUSABLE_RETRIES`` times.
        """
        from tenacity import Retrying, retry_if_exception_type

        queued = 0.0

        def attempt() -> T:
            nonlocal queued
            started = time.monotonic()
            with self._slots:
                self._pace.wait_for_turn(tokens, self._longest)
                queued += time.monotonic() - started
                return self._attempt(ask)

        def too_late(state: RetryCallState) -> bool:
            return (state.seconds_since_start or 0.0) + state.upcoming_sleep - queued >= self._longest

        attempts = Retrying(
            retry=retry_if_exception_type((TransientError, UnusableAnswerError)),
            wait=self._wait,
            stop=lambda state: self._tried_enough(state) or too_late(state),
            sleep=time.sleep,
            reraise=True,
        )
        answer: T = attempts(attempt)
        return answer

    def call_all(self, asks: Sequence[tuple[Callable[[OpenAI], T], int]]) -> list[T]:
        """Make several calls concurrently; answers are in order.

        Args:
            asks: Arguments of ``call``.

        Raises:
            TransientError: As ``call``; the first error cancels the calls that have not started.
            ProviderError: As ``call``.
        """
        if len(asks) < 2:
            return [self.call(ask, tokens) for ask, tokens in asks]
        with ThreadPoolExecutor(min(self.concurrency, len(asks)), thread_name_prefix=self.service) as pool:
            futures = [pool.submit(self.call, ask, tokens) for ask, tokens in asks]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _attempt(self, ask: Callable[[OpenAI], T]) -> T:
        """Make one attempt and translate the SDK's errors into ours."""
        import openai

        client = self._client or self._open()
        try:
            return ask(client)
        except openai.APITimeoutError as error:
            raise SlowAnswerError(f"{self.service} did not answer within {self._timeout:g} s.") from error
        except openai.APIStatusError as error:
            raise self._status_error(error) from error
        except (openai.APIResponseValidationError, JSONDecodeError, UnicodeDecodeError) as error:
            raise UnusableAnswerError(f"{self.service} answered with something unreadable.") from error
        except openai.APIConnectionError as error:
            raise TransientError(f"{self.service} could not be reached, or its answer broke off.") from error
        except openai.OpenAIError as error:
            raise ProviderError(f"{self.service} could not be asked: {_shortened(str(error))}") from error

    def _open(self) -> OpenAI:
        """Create the SDK's client once; its own retries are off."""
        from openai import DefaultHttpxClient, OpenAI

        if isinstance(self._api_key, AccountError):
            raise self._api_key
        with self._opening:
            if self._client is None:
                self._client = OpenAI(
                    api_key=self._api_key,
                    base_url=self._base_url,
                    timeout=self._timeout,
                    max_retries=0,
                    http_client=DefaultHttpxClient(event_hooks={"response": [self._apply_response]}),
                )
            return self._client

    def _apply_response(self, response: Response) -> None:
        """Adapt the pace to the limits that a response states."""
        self._pace.apply_response(response.status_code, response.headers)

    def _tried_enough(self, state: RetryCallState) -> bool:
        """Whether the attempt that just failed was the last one allowed."""
        unusable = state.outcome is not None and isinstance(state.outcome.exception(), UnusableAnswerError)
        retries = min(self._max_retries, UNUSABLE_RETRIES) if unusable else self._max_retries
        return state.attempt_number > retries

    def _wait(self, state: RetryCallState) -> float:
        """Seconds before the next attempt."""
        from tenacity import wait_random_exponential

        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after if isinstance(error, TransientError) else None
        backoff: float = wait_random_exponential(self._first_wait, LONGEST_WAIT_SECONDS)(state)
        return max(asked or 0.0, backoff)

    def _status_error(self, error: APIStatusError) -> TransientError | ProviderError:
        """Translate a status into a temporary or permanent error."""
        status, detail = error.status_code, _detail(error)
        if status in (401, 403):
            refusal = AccountError if status == 401 else RefusedError
            return refusal(f"{self.service} refused the API key ({status}): check the key and its rights.")
        if status == 404:
            return ProviderError(f"{self.service} does not know this model or address: {detail}")
        if error.code == "insufficient_quota":
            return AccountError(f"The account at {self.service} has no credit left: top it up.")
        if status in _RETRIED_STATUS or status >= 500:
            return TransientError(
                f"{self.service} answered with status {status}: {detail}",
                retry_after=requested_wait(error.response.headers),
            )
        return ProviderError(f"{self.service} rejected the request ({status}): {detail}")


def _detail(error: APIStatusError) -> str:
    """Return the service's message: OpenAI's field is ``message``, Voyage's is ``detail``."""
    body = error.body if isinstance(error.body, dict) else {}
    return _shortened(str(body.get("message") or body.get("detail") or error.message))


def _shortened(message: str) -> str:
    """Shorten a provider's message to one line for the log."""
    line = " ".join(message.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
