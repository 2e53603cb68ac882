"""Reports by HTTP: a real receiver that fails, stalls and misleads."""

from __future__ import annotations

import socket
import time

import pytest

from neurigraph_pipelines.errors import ConfigurationError, ProviderError, TransientError
from resources.webhook import ATTEMPTS, Webhook
from tests.support.webhook_receiver import Behaviour, WebhookReceiver

BODY = {"event": "run_failed", "job": "ingestion_job"}


def test_a_report_arrives_as_json() -> None:
    with WebhookReceiver() as receiver:
        Webhook(receiver.url, 5).post(BODY)
    assert receiver.bodies == [BODY]
    assert receiver.heads[0].startswith("POST /hook?token=abc HTTP/1.1")
    assert "Content-Type: application/json" in receiver.heads[0]


@pytest.mark.parametrize("fault", ["500", "hang_up"])
def test_a_passing_fault_is_tried_again(fault: Behaviour) -> None:
    with WebhookReceiver(fault, fault, "ok") as receiver:
        Webhook(receiver.url, 10).post(BODY)
    assert receiver.connections == ATTEMPTS


def test_attempts_are_bounded() -> None:
    with WebhookReceiver("500") as receiver, pytest.raises(TransientError, match="status 500"):
        Webhook(receiver.url, 10).post(BODY)
    assert receiver.connections == ATTEMPTS


@pytest.mark.parametrize("fault", ["stall", "drip"])
def test_no_answer_takes_longer_than_allowed(fault: Behaviour) -> None:
    started = time.monotonic()
    with WebhookReceiver(fault) as receiver:
        with pytest.raises(TransientError, match="in time"):
            Webhook(receiver.url, 1.5).post(BODY)
        assert time.monotonic() - started < 2.5
    assert receiver.connections > 1


def test_an_endless_answer_is_not_read() -> None:
    started = time.monotonic()
    with WebhookReceiver("huge") as receiver:
        Webhook(receiver.url, 5).post(BODY)
        assert time.monotonic() - started < 2


def test_a_redirect_is_not_followed() -> None:
    with WebhookReceiver("302") as receiver, pytest.raises(ProviderError, match="302"):
        Webhook(receiver.url, 5).post(BODY)
    assert receiver.connections == 1


def test_a_refusal_is_final() -> None:
    with WebhookReceiver("400") as receiver, pytest.raises(ProviderError, match="400"):
        Webhook(receiver.url, 5).post(BODY)
    assert receiver.connections == 1


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(TransientError) as caught:
        Webhook(f"http://127.0.0.1:{port}/secret", 3).post(BODY)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest/meta-data", "http://[fe80::1]/x", "http://[::ffff:169.254.169.254]/x"]
)
def test_link_local_addresses_are_refused(url: str) -> None:
    with pytest.raises(ProviderError, match="link-local"):
        Webhook(url, 2).post(BODY)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://host/x",
        "gopher://host",
        "host/x",
        "http://",
        "http://user:secret@host/x",
        "http://host:notaport/x",
        "http://host/a b",
        "http://host/x\r\nX-Injected: 1",
        "http://hösts/x",
        "",
    ],
)
def test_other_addresses_are_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Webhook(url, 2)
    assert "secret" not in str(caught.value)
