"""Webhooks to addresses inside the network, in every spelling, by names that change and by redirects.

Every case lets a real listener on loopback count connections: names that are not loopback are answered with it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from neurigraph_pipelines.model.errors import ProviderError, TransientError
from resources import outgoing_request
from resources.outgoing_guard import require_global
from resources.webhook_sender import HttpWebhookSender
from tests.support.webhook_receiver import WebhookReceiver

pytestmark = pytest.mark.attack
PUBLIC = "93.184.216.34"
SENDER = HttpWebhookSender(("*",), (), 1.0)

FORBIDDEN = (
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433",
    "017700000001", "0x7f.1", "0", "0.0.0.0", "localhost", "LOCALHOST", "localhost.", "[::1]", "[0:0:0:0:0:0:0:1]",
    "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "10.0.0.1", "10.1", "0x0a000001", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.1", "3232235521",
    "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]", "100.100.100.200", "100.64.0.1", "198.18.0.1", "192.0.0.1", "192.0.2.1", "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "[fe80::1]", "[fe80::1%25lo]",
    "[fc00::1]", "[fec0::1]", "[ff02::1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]",
    "[2001:0:7f00:1::]", "[2001:db8::1]", "192.88.99.1",
)  # fmt: skip


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as receiver:
        yield receiver


def answer_with(monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, ...]) -> list[str]:
    """Let the name server answer for ``hooks.test`` with each of these, then with the last; return what was asked."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def found(host: Any, *rest: Any, **named: Any) -> Any:
        if host != "hooks.test":
            return real(host, *rest, **named)
        addresses = answers[min(len(asked), len(answers) - 1)]
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    return asked


def watch(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses that are connected to from now on."""
    connected: list[str] = []
    real = outgoing_request._exchange

    def exchange(method: str, url: Any, address: str, *rest: Any) -> Any:
        connected.append(address)
        return real(method, url, address, *rest)

    monkeypatch.setattr(outgoing_request, "_exchange", exchange)
    return connected


def post(url: str, sender: HttpWebhookSender = SENDER) -> None:
    sender.post(url, {}, b"{}")


@pytest.mark.parametrize("host", FORBIDDEN)
def test_forbidden_addresses_are_never_connected_to(
    receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    connected = watch(monkeypatch)
    port = receiver.url.split(":")[2].partition("/")[0]
    with pytest.raises((ProviderError, TransientError)):
        post(f"https://{host}:{port}/hook")
    assert (connected, receiver.connections) == ([], 0)


def test_addresses_are_many() -> None:
    assert len(set(FORBIDDEN)) >= 40


def test_same_request_reaches_a_local_host_that_is_allowed(receiver: WebhookReceiver) -> None:
    """The control for all of this."""
    assert HttpWebhookSender((), ("127.0.0.1",), 5.0).post(receiver.url, {}, b"{}").status == 204
    assert receiver.connections == 1


def is_refused(address: str) -> bool:
    try:
        require_global(address)
    except ProviderError:
        return True
    return False


@pytest.mark.parametrize("address", [PUBLIC, "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "2a00:1450::1"])
def test_public_addresses_are_taken(address: str) -> None:
    assert not is_refused(address)


@pytest.mark.parametrize(
    "address",
    [
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "2002:808:808::1",
        "2001:0:808:808::1",
        "2a00:1450::5efe:808:808",
        "::8.8.8.8",
    ],
)
def test_addresses_within_addresses(address: str) -> None:
    """A gateway may take the inner address out, so the outer one is refused whatever the inner one is."""
    assert is_refused(address)


@pytest.mark.parametrize("address", ["", "x", "1.2.3", "300.1.1.1", "1.1.1.1%eth0", "2606:4700::1%eth0", "08.8.8.8"])
def test_unclear_addresses_are_refused(address: str) -> None:
    assert is_refused(address)


def test_second_lookup_gains_nothing(receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name server says a public address first, and then the listener's."""
    connected = watch(monkeypatch)
    asked = answer_with(monkeypatch, (PUBLIC,), ("127.0.0.1",))
    port = receiver.url.split(":")[2].partition("/")[0]
    with pytest.raises(TransientError):
        post(f"https://hooks.test:{port}/")
    assert (asked, connected, receiver.connections) == (["hooks.test"], [PUBLIC], 0)
    with pytest.raises(ProviderError):  # the next message asks again, and is refused
        post(f"https://hooks.test:{port}/")
    assert (connected, receiver.connections) == ([PUBLIC], 0)


@pytest.mark.parametrize("addresses", [(PUBLIC, "127.0.0.1"), ("127.0.0.1", PUBLIC), (PUBLIC, PUBLIC, "10.0.0.1")])
def test_every_address_is_checked(
    receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...]
) -> None:
    connected = watch(monkeypatch)
    answer_with(monkeypatch, addresses)
    with pytest.raises(ProviderError, match="not public"):
        post("https://hooks.test/")
    assert connected == []


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://metadata.google.internal/",
        "itself",
    ],
)
def test_redirects_are_not_followed(location: str) -> None:
    with WebhookReceiver("302") as receiver, WebhookReceiver() as inside:
        receiver.location = inside.url if location == "itself" else location
        answer = HttpWebhookSender((), ("127.0.0.1",), 5.0).post(receiver.url, {}, b"{}")
        assert (answer.status, receiver.connections, inside.connections) == (302, 1, 0)


def test_settings_are_looked_at_again(receiver: WebhookReceiver) -> None:
    """A host that was allowed when the webhook was added, and is not any more."""
    port = receiver.url.split(":")[2].partition("/")[0]
    for sender in (HttpWebhookSender((), (), 1.0), HttpWebhookSender((), ("10.0.0.1",), 1.0)):
        with pytest.raises(ProviderError):
            post(f"http://127.0.0.1:{port}/hook", sender)
    with pytest.raises(ProviderError, match="are off"):
        post(f"https://127.0.0.1:{port}/hook", HttpWebhookSender((), (), 1.0))
    assert receiver.connections == 0


def test_local_host_is_never_link_local(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = watch(monkeypatch)
    answer_with(monkeypatch, ("169.254.169.254",))
    with pytest.raises(ProviderError, match="link-local"):
        post("http://hooks.test/", HttpWebhookSender((), ("hooks.test",), 1.0))
    assert connected == []
