"""Reports by HTTP POST to an address of the operator's choice.

Belongs here: which addresses are allowed, time limits and retries. Only http and https are allowed, and link-local
addresses are not, because clouds serve credentials there. Only the status of an answer is read. The caller decides what
is reported.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from neurigraph_pipelines.model.errors import ConfigurationError, ProviderError, TransientError
from resources.outgoing_guard import refuse_link_local, split_url
from resources.outgoing_request import send

ATTEMPTS = 3
FIRST_WAIT_SECONDS = 0.5
"""Longest wait before the second attempt; doubles for the third."""

_SCHEMES = frozenset({"http", "https"})
_RETRIED_STATUS = frozenset({408, 425, 429})
_HEADERS = {"Content-Type": "application/json", "User-Agent": "neurigraph"}


class Webhook:
    """One address that takes JSON.

    Args:
        url: http or https; never shown, since such addresses contain their secret.
        timeout: Seconds that one report may take, retries included.

    Raises:
        ConfigurationError: Reports cannot be posted to the address.
    """

    def __init__(self, url: str, timeout: float) -> None:
        try:
            split_url(url, _SCHEMES)
        except ValueError as error:
            raise ConfigurationError(f"NEURIGRAPH_FAILURE_WEBHOOK_URL {error}") from error
        self._url = url
        self._timeout = timeout

    def post(self, body: Mapping[str, object]) -> None:
        """Report ``body`` as JSON, and retry after an error that may pass.

        Raises:
            TransientError: The host could not be reached in time, or every attempt failed.
            ProviderError: The host refused the report.
        """
        from tenacity import (
            Retrying,
            retry_if_exception_type,
            stop_after_attempt,
            stop_before_delay,
            wait_random_exponential,
        )

        content = json.dumps(body).encode()
        deadline = time.monotonic() + self._timeout
        attempts = Retrying(
            retry=retry_if_exception_type(TransientError),
            wait=wait_random_exponential(FIRST_WAIT_SECONDS),
            stop=stop_after_attempt(ATTEMPTS) | stop_before_delay(self._timeout),
            reraise=True,
        )
        for attempt in attempts:
            with attempt:
                # Half of the remaining time, so that one attempt that hangs leaves time for the next.
                share = 1 if attempt.retry_state.attempt_number == ATTEMPTS else 2
                self._attempt(content, (deadline - time.monotonic()) / share)

    def _attempt(self, content: bytes, seconds: float) -> None:
        try:
            status = send(
                "POST", self._url, headers=_HEADERS, seconds=seconds, content=content, check_address=refuse_link_local
            ).status
        except OSError as error:
            raise TransientError(f"the webhook could not be reached in time ({error})") from error
        if status >= 500 or status in _RETRIED_STATUS:
            raise TransientError(f"the webhook answered with status {status}")
        if not 200 <= status < 300:
            raise ProviderError(f"the webhook answered with status {status}: check NEURIGRAPH_FAILURE_WEBHOOK_URL")
