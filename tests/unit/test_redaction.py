"""Redaction: what it finds, what it leaves, and that it is idempotent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from neurigraph_pipelines.inbox.redaction import redact_message
from neurigraph_pipelines.model import IncomingMessage, Role
from neurigraph_pipelines.settings import Settings
from resources.redaction import PatternRedactor

ALL = PatternRedactor(["email", "phone", "card", "key"], "US")

# Put together here, so that nobody's scanner takes them for real ones.
SECRETS = (
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "11ABCDEFG0" * 3,
    "xoxb-" + "123456789012-" + "abcdefGHIJ",
    "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "sk-ant-" + "api03-" + "x" * 40,
    "sk-proj-" + "Ab9_" * 12,
    "SG." + "a" * 22 + "." + "b" * 43,
    "AIza" + "Sy" + "c" * 33,
    "npm_" + "Z9" * 18,
    "ng_" + "q" * 43,
    "ng_" + "q" * 65,
    "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "glpat-" + "A1b2C3d4E5f6G7h8I9j0",
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "The key is {}, keep it.", '{{"api_key":"{}"}}', "key={}\nnext line", "({})"])
def test_keys_and_tokens_are_found(secret: str, around: str) -> None:
    text, counts = ALL.redact(around.format(secret))
    assert secret not in text
    assert text == around.format("[key]")
    assert counts == {"key": 1}


@pytest.mark.parametrize(
    ("text", "left", "found"),
    [
        ("Write to bob.smith+home@mail.example.co.uk.", "Write to [email].", {"email": 1}),
        ("用户@例子.广告 and müller@exämple.de", "[email] and [email]", {"email": 2}),
        ("Call +44 20 7946 0958 or (650) 253-0000!", "Call [phone] or [phone]!", {"phone": 2}),
        ("Pay with 4111 1111 1111 1111.", "Pay with [card].", {"card": 1}),
        ("Amex 378282246310005, MC 5555-5555-5555-4444", "Amex [card], MC [card]", {"card": 2}),
        ("https://me:hunter2@db.example.com/x", "https://me:[key]@db.example.com/x", {"key": 1}),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\nDone.",
            "[key]\nDone.",
            {"key": 1},
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg cut off", "[key]", {"key": 1}),
        ("Connect with password=swordfish now", "Connect with password=[key] now", {"key": 1}),
        ("The pwd = something, password=something easy", "The pwd = [key], password=[key] easy", {"key": 2}),
        ("db_passwd = 'p4ss word', pwd=abcd", "db_passwd = 'p4ss word', pwd=[key]", {"key": 1}),
        ("?user=bob&password=s3cr3t-x&n=1", "?user=bob&password=[key]&n=1", {"key": 1}),
        ("password: 42-horse-battery", "password: [key]", {"key": 1}),
        ('{"password": "hunter2hunter2"}', '{"password": "[key]"}', {"key": 1}),
        ("api-key: 9f8e7d6c5b", "api-key: [key]", {"key": 1}),
        ("a@b.co " * 3, "[email] " * 3, {"email": 3}),
    ],
)
def test_match_is_replaced_by_label(text: str, left: str, found: dict[str, int]) -> None:
    assert ALL.redact(text) == (left, found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "On 2025-03-01 at 09:30:00 we sold 12,345,678 of version 1.2.3.4 for 1,234.50.",
        "4111 1111 1111 1112 has a wrong check digit, 79927398713 is no card.",
        "Order 20250301123456, tracking 1740819600000, commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad.",
        "@everyone, the ratio a@b is not an address; nor is user@localhost.",
        "The class sk-button and the tag eyJ are words, and so is AKIA.",
        "password=None, password=get_password(), password == given, token=token, the password: at least 8 letters",
        "My secret: 20-minute naps. The token: 3rd-party tools, PWD=/home/bob/boats, pwd=~/boats",
        "The password = whatever you find easy, the passphrase = something long, pwd = your name",
        "max_tokens=100000000, secret: nothing, api_key=self.api_key1, tokens: a1b2c3d4e5",
        "NUL \0, a surrogate \ud800, emoji 🚲🚲, and ۱۲۳۴ ۵۶۷۸.",
    ],
)
def test_lookalikes_stay(text: str) -> None:
    assert ALL.redact(text) == (text, {})


def test_only_chosen_kinds_are_redacted() -> None:
    text = "bob@example.com +44 20 7946 0958"
    assert PatternRedactor(["phone"]).redact(text) == ("bob@example.com [phone]", {"phone": 1})
    assert PatternRedactor(["email"]).redact(text) == ("[email] +44 20 7946 0958", {"email": 1})
    # Without a region a number needs its country code.
    assert PatternRedactor(["phone"]).redact("Call (650) 253-0000")[1] == {}


FRAGMENTS = (
    "bob@example.com|+1 650 253 0000|4111111111111111|[email]|[key]|://u:|@|.| |1|65|+|-|x|é|\u0660|'|aws key".split(
        "|"
    )
)
PIECES = st.sampled_from([*SECRETS, *FRAGMENTS, "\n", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"])


@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
def test_redaction_is_idempotent(text: str) -> None:
    once, _ = ALL.redact(text)
    assert ALL.redact(once) == (once, {})


@pytest.mark.parametrize(
    "unit",
    [
        "eyJ",
        "eyJaaaaaaaa.",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "a@b.",
        "4 ",
        "xoxb-1-",
        "aws",
        "://a:",
        "glagent-",
        "password",
        "password=",
        "pwd = '",
        "token: 1",
        "a-password=a",
        "+1 ",
    ],
)
def test_hostile_text_is_linear(unit: str) -> None:
    """Half a megabyte of each pattern; worse than linear time would take hours."""
    text, _ = ALL.redact(unit * (500_000 // len(unit)))
    assert text


def test_texts_are_redacted_and_ids_kept() -> None:
    message = IncomingMessage(
        Role.ASSISTANT,
        "Mail bob@example.com.",
        author="ann@example.com",
        external_id="ann@example.com/1",
        occurred_at=datetime(2025, 3, 1, tzinfo=UTC),
        tool_calls=({"name": "send", "arguments": {"to": ["bob@example.com", 3, None, True], "n": 4.5}},),
    )
    redacted, counts = redact_message(ALL, message)
    assert (redacted.content, redacted.author, redacted.external_id) == (
        "Mail [email].",
        "[email]",
        "ann@example.com/1",
    )
    assert redacted.tool_calls == ({"name": "send", "arguments": {"to": ["[email]", 3, None, True], "n": 4.5}},)
    assert counts == {"email": 3}
    assert redact_message(ALL, redacted) == (redacted, {})


def test_setting_lists_known_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().ingestion.redact == ()
    monkeypatch.setenv("NEURIGRAPH_REDACT", "email, key")
    assert Settings().ingestion.redact == ("email", "key")
    monkeypatch.setenv("NEURIGRAPH_REDACT", "email,colour")
    with pytest.raises(ValidationError, match=r"NEURIGRAPH_REDACT\b"):
        Settings()
    monkeypatch.setenv("NEURIGRAPH_REDACT", "phone")
    monkeypatch.setenv("NEURIGRAPH_REDACT_PHONE_REGION", "somewhere")
    with pytest.raises(ValidationError, match="NEURIGRAPH_REDACT_PHONE_REGION"):
        Settings()
