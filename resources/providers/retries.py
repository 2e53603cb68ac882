"""Calls to a model provider: bounded in number, time and company, with errors of our own.

Belongs here: the SDK client, which faults pass and which do not, retrying, and how many calls run at once. Not here:
how fast they may follow each other (``provider_pace``), what is asked and how answers are read
(``embedder_openai``, ``language_model_openai``).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from json import JSONDecodeError
from typing import TYPE_CHECKING, TypeVar

from neurigraph_pipelines.errors import ProviderError, TransientError
from resources.providers.pace import Pace, asked_wait

if TYPE_CHECKING:
    from httpx import Response
    from openai import APIStatusError, OpenAI
    from tenacity import RetryCallState

T = TypeVar("T")

UNUSABLE_RETRIES = 2
"""Times that an unusable answer is asked for again: each costs as much as a good one."""

LONGEST_WAIT_SECONDS = 20.0

_DEADLINE_TIMEOUTS = 3.0
"""After this many times the timeout of one attempt, a call is not tried again."""

_PASSING_STATUS = frozenset({408, 409, 425, 429})
"""Statuses below 500 that another attempt may turn into an answer."""


class UnusableAnswerError(ProviderError):
    """The provider answered, and not with what was asked for; another attempt may bring better."""


class ProviderClient:
    """The client of one service that speaks the OpenAI protocol.

    Every call is tried up to ``max_retries`` more times after a fault that may pass, with exponential backoff
    and full jitter, or after as long as the service asked for, whichever is longer. When the wait would
    outlast ``longest``, the call fails at once and says how long the service asked to be left
    alone. At most ``concurrency`` calls run at a time, over all threads; waits between attempts do not count. What
    the service says about its limits holds for all calls at once, and so does ``pace``; waiting for a place and for
    one's turn does not count towards ``longest``.

    Args:
        service: Its name in messages, such as ``OpenAI``.
        api_key: Never shown.
        base_url: Address of a compatible server; None for OpenAI's own.
        timeout: Seconds to wait for one answer.
        max_retries: Attempts after the first.
        concurrency: Calls at the same time.
        first_wait: Longest wait before the second attempt in seconds; doubles with each.
        pace: Keeps to limits a minute; without one, only to what the service says.
        longest: Seconds after which no further attempt is begun; three timeouts if not given.
    """

    def __init__(
        self,
        service: str,
        api_key: str,
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
            ask: Sends one request and reads the answer; raises ``UnusableAnswerError`` for one it cannot use.
            tokens: About how many the request takes.

        Raises:
            TransientError: Still failing after the retries, or asked to wait for longer than there is time.
            ProviderError: Refused for good, or unusable more than ``UNUSABLE_RETRIES`` times.
        """
        from tenacity import Retrying, retry_if_exception_type

        queued = 0.0

        def attempt() -> T:
            nonlocal queued
            came = time.monotonic()
            with self._slots:
                self._pace.take_turn(tokens, self._longest)
                queued += time.monotonic() - came
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
        """Make several calls at the same time, as many as are allowed; answers in order.

        Args:
            asks: What ``call`` takes.

        Raises:
            TransientError: As ``call``; the first fault ends the calls that have not begun.
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
        """One attempt, its faults in our words."""
        import openai

        client = self._client or self._open()
        try:
            return ask(client)
        except openai.APITimeoutError as error:
            raise TransientError(f"{self.service} did not answer within {self._timeout:g} s.") from error
        except openai.APIStatusError as error:
            raise self._status_error(error) from error
        except (openai.APIResponseValidationError, JSONDecodeError, UnicodeDecodeError) as error:
            raise UnusableAnswerError(f"{self.service} answered with something unreadable.") from error
        except openai.APIConnectionError as error:
            raise TransientError(f"{self.service} could not be reached, or broke off its answer.") from error
        except openai.OpenAIError as error:
            raise ProviderError(f"{self.service} could not be asked: {_shortened(str(error))}") from error

    def _open(self) -> OpenAI:
        """Make the SDK's client once, whoever comes first; it retries nothing by itself."""
        from openai import DefaultHttpxClient, OpenAI

        with self._opening:
            if self._client is None:
                self._client = OpenAI(
                    api_key=self._api_key,
                    base_url=self._base_url,
                    timeout=self._timeout,
                    max_retries=0,
                    http_client=DefaultHttpxClient(event_hooks={"response": [self._heed]}),
                )
            return self._client

    def _heed(self, response: Response) -> None:
        """Every answer, good or bad, may ask for a slower pace."""
        self._pace.heed(response.status_code, response.headers)

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
        """What a status means: wait, or change something."""
        status, detail = error.status_code, _detail(error)
        if status in (401, 403):
            return ProviderError(f"{self.service} refused the API key ({status}): check the key and its rights.")
        if status == 404:
            return ProviderError(f"{self.service} knows no such model or address: {detail}")
        if error.code == "insufficient_quota":
            return ProviderError(f"The account at {self.service} has no credit left: top it up, then replay.")
        if status in _PASSING_STATUS or status >= 500:
            return TransientError(
                f"{self.service} answered with status {status}: {detail}",
                retry_after=asked_wait(error.response.headers),
            )
        return ProviderError(f"{self.service} rejected the request ({status}): {detail}")


def _detail(error: APIStatusError) -> str:
    """What the service said: OpenAI says it under ``message``, Voyage under ``detail``."""
    body = error.body if isinstance(error.body, dict) else {}
    return _shortened(str(body.get("message") or body.get("detail") or error.message))


def _shortened(message: str) -> str:
    """A provider's message on one line, short enough for a log."""
    line = " ".join(message.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
