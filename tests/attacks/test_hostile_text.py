"""Attacks by text: text that is slow to read, lookalike names, and addresses that cause requests."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph import provisioning
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model.errors import ConfigurationError, InvalidInputError, ProviderError
from resources.json_web_tokens import KeySet
from resources.webhook import Webhook
from tests.conftest import ADMIN_KEY
from tests.support.api_server import serving
from tests.support.documents import docx_of
from tests.support.memories import WordEmbedder, converse, new_user, rows
from tests.support.two_users import World

pytestmark = pytest.mark.attack

LONGEST = 4_000  # characters of a question


@pytest.fixture(scope="module")
def client(world: World) -> Iterator[httpx.Client]:
    """An HTTP client with a timeout of half a minute, which a slow request exceeds."""
    key = issue_api_key(world.installation.database, world.alice.user_id)
    with (
        serving(world.installation) as address,
        httpx.Client(base_url=address, timeout=30.0, headers={"Authorization": f"Bearer {key}"}) as made,
    ):
        yield made


def filled(unit: str, end: str = "") -> str:
    """Return a question of maximum length: a repeated piece and an end that does not match."""
    return (unit * LONGEST)[: LONGEST - len(end)] + end


SLOW = {
    "one letter": filled("a", "!"),
    "blanks": "x" + filled(" ", "x")[: LONGEST - 1],
    "line breaks": "x" + filled("\n\t\r ", "x")[: LONGEST - 1],
    "digits": filled("9", "x"),
    "digits and dashes": filled("1-", "x"),
    "dates without end": filled("2024-01-", "x"),
    "times": filled("12:", "x"),
    "years": filled("2024 "),
    "last last last": filled("last ", "week"),
    "days of the week": filled("monday "),
    "the day before": filled("the day before ", "yesterday"),
    "two weeks ago": filled("two weeks ago "),
    "between and": filled("between ", "and"),
    "months": filled("May may MAY "),
    "ordinals": filled("first second third of the last month of "),
    "brackets": filled("(", ")"),
    "quotes": filled("\"'", "\\"),
    "search operators": filled("a & b | ! c <-> d:* "),
    "followed by": filled("<1000000000> "),
    "percent and underscore": filled("%_", "\\"),
    "a pattern": filled("(a+)+", "$"),
    "backslashes": filled("\\"),
    "names": filled("Ana Dave "),
    "capitals": filled("AnaDave", "x"),
    "possessives": filled("Ana's friend's "),
    "different words": " ".join(f"w{number}" for number in range(700)),
    "combining marks": "e" + "\u0301" * (LONGEST - 1),
    "joined emoji": filled("👩\u200d", "👩"),
    "right to left": filled("\u202e\u202d"),
    "no blanks in Chinese": filled("记忆是一座图书馆"),
    "full width": filled("ｙｅｓｔｅｒｄａｙ　"),
    "half pairs": filled("\ud83d"),
    "replacement characters": filled("\ufffd"),
    "an address": "http://" + filled("a.")[: LONGEST - 7],
    "a mail address": filled("a@", "a"),
}


@pytest.mark.parametrize("words", SLOW)
def test_slow_question(client: httpx.Client, words: str) -> None:
    content = json.dumps({"query": SLOW[words]})  # ASCII, which has escapes for half pairs
    assert LONGEST * 0.8 < len(SLOW[words]) <= LONGEST
    answer = client.post("/v1/search", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "words", ["one letter", "search operators", "percent and underscore", "a pattern", "names", "half pairs"]
)
def test_slow_speaker_name(client: httpx.Client, words: str) -> None:
    content = json.dumps({"query": "x", "speaker": SLOW[words][:300]})
    answer = client.post("/v1/search", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text


def test_slow_messages(world: World) -> None:
    """Ingest all slow texts at double length: filed, summarised and searched for dates and words."""
    installation = world.installation
    _, claims = new_user(installation)
    converse(installation, claims, *(words * 2 for words in SLOW.values()))
    context = installation.context.using(embedder=WordEmbedder())  # a real one would only take its time
    assert sum(len(result.stored) for result in run_due(context, "tests")) == 1


# Looking like somebody else


@pytest.mark.parametrize(
    "slug",
    [
        "al\u0456ce",
        "alice\u200b",
        "\u202eecila",
        "ａｌｉｃｅ",
        "alic\u00e9",
        "alice\u0301",
        "ALICE",
        "al\u0131ce",
        "\ufb01sh",
        " alice",
        "alice\n",
        "alice\0",
        "alice.",
        "alice/../bob",
        "..",
        "-",
        "a" * 64,
        "",
    ],
    ids=ascii,
)
def test_lookalike_slugs(world: World, client: httpx.Client, slug: str) -> None:
    with pytest.raises(InvalidInputError):
        provisioning.create_user(world.installation.database, slug)
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    assert client.post("/v1/users", json={"slug": slug}, headers=headers).status_code == 422


@pytest.mark.parametrize(
    "name", ["FAMILY", "ｆａｍｉｌｙ", "Fam\u200bily", "Fam\u00adily", " Family ", "\u202eFamily", "Family\0"]
)
def test_lookalike_node_names(name: str) -> None:
    """A lookalike name leads to the existing node, not to a second one."""
    assert name_key(name) == name_key("Family")


# Making us call somebody


class Listener:
    """A server that counts requests."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/called"
        self.calls = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.calls += 1
                connection.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def test_urls_in_user_text_are_not_fetched(world: World, client: httpx.Client, listener: Listener) -> None:
    """No address in a user's text, name, file or header is ever requested."""
    url, installation = listener.url, world.installation
    opened = client.post("/v1/conversations", json={"title": url, "external_id": url}).json()["conversation_id"]
    message = {"role": "user", "content": f"![x]({url}) <img src={url}>", "author": url, "tool_calls": [{"url": url}]}
    assert client.post(f"/v1/conversations/{opened}/messages", json={"messages": [message]}).status_code == 200
    client.post(f"/v1/conversations/{opened}/end")
    client.post("/v1/events", json={"kind": "meeting", "title": url, "messages": [message]})
    word = (
        f'<!DOCTYPE d SYSTEM "{url}"><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f"<w:body><w:p><w:r><w:t>x</w:t></w:r></w:p></w:body></w:document>"
    )
    relations = (
        f'<Relationships><Relationship Id="r9" TargetMode="External" Target="{url}" Type="image"/></Relationships>'
    )
    document = docx_of({"word/document.xml": word.encode(), "word/_rels/document.xml.rels": relations.encode()})
    page = f'<base href="{url}"><link rel="stylesheet" href="{url}"><img src="{url}"><p>x</p>'.encode()
    pdf = f"%PDF-1.7\n1 0 obj << /Type /Catalog /OpenAction << /S /URI /URI ({url}) >> >> endobj".encode()
    for name, content in ((url, document), ("a.html", page), ("a.pdf", pdf), ("a.url", url.encode())):
        assert client.post("/v1/files", files={"file": (name, content)}, data={"title": url}).status_code == 202
    installation.uploads.read_due(installation.text_extractor)
    list(run_due(installation.context, "tests"))
    for body in ({"query": url}, {"query": f"site:{url}", "speaker": url}):
        assert client.post("/v1/search", json=body).status_code == 200
        assert client.post("/v1/ask", json=body).status_code == 200
    headers = {"Referer": url, "Origin": url, "X-Forwarded-Host": url, "Forwarded": f"host={url}", "Callback": url}
    assert client.get("/v1/tree", headers=headers).status_code == 200
    assert rows(installation, "SELECT FROM neurigraph.sources WHERE title = %s", url) != []
    assert listener.calls == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:5432/",
        "ftp://example.org/",
        "http://user@example.org/",
        "http://",
    ],
)
def test_webhook_to_an_internal_address(url: str) -> None:
    """Only the operator sets the webhook, and even then cloud metadata addresses are refused."""
    with pytest.raises((ConfigurationError, ProviderError)):
        Webhook(url, 1.0).post({})


@pytest.mark.parametrize(
    "url",
    ["http://example.org/keys", "file:///etc/passwd", "https://", "http://169.254.169.254/", "gopher://localhost/"],
)
def test_key_set_over_plain_http(url: str) -> None:
    with pytest.raises(ConfigurationError):
        KeySet(url, 60.0)
