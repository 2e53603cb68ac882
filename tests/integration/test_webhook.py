"""Reports by HTTP to a receiver that fails, stalls and redirects."""

from __future__ import annotations

import logging
import socket
import ssl
import time
from pathlib import Path

import pytest

from neurigraph_pipelines.model.errors import ProviderError, TransientError
from resources.webhook import ATTEMPTS, Webhook
from tests.support.certificates import certificate_of
from tests.support.webhook_receiver import Behaviour, WebhookReceiver

BODY = {"event": "run_failed", "job": "ingestion_job"}


def test_report_arrives_as_json(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with WebhookReceiver() as receiver:
        Webhook(receiver.url, 5).post(BODY)
    assert "token=abc" not in caplog.text, "the address contains a secret"
    assert receiver.bodies == [BODY]
    assert receiver.heads[0].startswith("POST /hook?token=abc HTTP/1.1")
    assert "Content-Type: application/json" in receiver.heads[0]


@pytest.mark.parametrize("fault", ["500", "hang_up"])
def test_transient_fault_is_retried(fault: Behaviour) -> None:
    with WebhookReceiver(fault, fault, "ok") as receiver:
        Webhook(receiver.url, 10).post(BODY)
    assert receiver.connections == ATTEMPTS


def test_attempts_are_bounded() -> None:
    with WebhookReceiver("500") as receiver, pytest.raises(TransientError, match="status 500"):
        Webhook(receiver.url, 10).post(BODY)
    assert receiver.connections == ATTEMPTS


@pytest.mark.parametrize("fault", ["stall", "drip"])
def test_slow_response_times_out(fault: Behaviour) -> None:
    started = time.monotonic()
    with WebhookReceiver(fault) as receiver:
        with pytest.raises(TransientError, match="in time"):
            Webhook(receiver.url, 1.5).post(BODY)
        assert time.monotonic() - started < 10, "a stall lasts a minute, dripping a quarter of an hour"
    assert receiver.connections > 1


def test_endless_response_is_not_read() -> None:
    started = time.monotonic()
    with WebhookReceiver("huge") as receiver:
        Webhook(receiver.url, 5).post(BODY)
        assert time.monotonic() - started < 4, "reading lasts five seconds"


def test_refusal_is_final() -> None:
    with WebhookReceiver("400") as receiver, pytest.raises(ProviderError, match="400"):
        Webhook(receiver.url, 5).post(BODY)
    assert receiver.connections == 1


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_environment_proxies_are_not_used(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with WebhookReceiver() as proxy, WebhookReceiver() as receiver:
        monkeypatch.setenv(variable, proxy.url)
        Webhook(receiver.url, 5).post(BODY)
    assert (proxy.connections, receiver.connections) == (0, 1)


def test_closed_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(TransientError) as caught:
        Webhook(f"http://127.0.0.1:{port}/secret", 3).post(BODY)
    assert "secret" not in str(caught.value)


def test_https_checks_the_certificate_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = certificate_of("localhost", tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with WebhookReceiver(tls=tls) as receiver:
        port = receiver.url.split(":")[2]
        with pytest.raises(TransientError):
            Webhook(f"https://localhost:{port}", 2).post(BODY)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with pytest.raises(TransientError):
            Webhook(f"https://127.0.0.1:{port}", 2).post(BODY)
        assert receiver.bodies == []
        Webhook(f"https://localhost:{port}", 5).post(BODY)
    assert receiver.bodies == [BODY]
    assert f"Host: localhost:{port.split('/')[0]}" in receiver.heads[0]
