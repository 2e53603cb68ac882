"""Sends messages to the receivers of webhooks: users' addresses, so everything about them is untrusted.

Off until the settings allow hosts. https to public addresses only, save hosts that the settings name as local. The
connection goes to the IP address that was checked, follows no redirect, uses no proxy and has one time limit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.ports import WebhookAnswer
from resources.allowed_hosts import AllowedCalls, AllowedHosts


class HttpWebhookSender(AllowedCalls):
    """Implements ``ports.WebhookSender`` over HTTP.

    Args:
        hosts: Names that may be called, as ``AllowedHosts`` says.
        local_hosts: Names or addresses that may be called over http and at addresses that are not public.
        seconds: Time limit for one message, the name lookup included.
    """

    def __init__(self, hosts: tuple[str, ...], local_hosts: tuple[str, ...], seconds: float) -> None:
        super().__init__(AllowedHosts(hosts, local_hosts, "webhook", "NEURIGRAPH_WEBHOOK_HOSTS"), seconds)

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> WebhookAnswer:
        """Send one message."""
        try:
            answer = self._send("POST", url, headers, body)
        except OSError as error:
            raise TransientError(f"the receiver could not be reached in time ({error})") from error
        return WebhookAnswer(answer.status, _seconds_of(answer.retry_after))


def _seconds_of(retry_after: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` header, which has seconds or a date; None if it has neither."""
    if retry_after is None:
        return None
    if retry_after.strip().isascii() and retry_after.strip().isdigit():
        return float(retry_after.strip()[:9])
    with suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(retry_after)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max((moment - datetime.fromtimestamp(time.time(), UTC)).total_seconds(), 0.0)
    return None
