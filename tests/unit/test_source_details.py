"""What writers state about sources: what is refused, cleaned and redacted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from neurigraph_pipelines.inbox.source_details import checked_details
from neurigraph_pipelines.model import Tier
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.media_types import media_type_of
from neurigraph_pipelines.views.kinds import Channel, DocumentType
from neurigraph_pipelines.views.sources import Provenance
from resources.redaction import PatternRedactor


def test_good_details_are_cleaned() -> None:
    stated = SourceDetails(
        origin="  Slack\n export ",
        document_type=DocumentType.TWEET,
        url="HTTPS://example.com/a?b=c#d",
        channel=Channel.DM,
        author="Ana\x00",
        metadata={"team": "blue", "likes": 3, "ratio": 0.5, "pinned": True},
        updated_at=datetime(2025, 3, 1),  # noqa: DTZ001 - a time without a zone is UTC
        tier=Tier.SHORT,
        container_tags=("work", "home"),
    )
    assert checked_details(stated, "repair", None) == {
        "origin": "Slack export",
        "document_type": "tweet",
        "url": "https://example.com/a?b=c#d",
        "channel": "dm",
        "author": "Ana\ufffd",
        "metadata": '{"team": "blue", "likes": 3, "ratio": 0.5, "pinned": true}',
        "updated_at": datetime(2025, 3, 1, tzinfo=UTC),
        "tier": "short",
        "container_tags": "home,work",
    }
    assert {
        name: value for name, value in checked_details(SourceDetails(), "repair", None).items() if value is not None
    } == {"container_tags": ""}


def test_details_are_redacted() -> None:
    mail = "ana@example.com"
    stated = SourceDetails(author=mail, url=f"https://example.com/?to={mail}", metadata={mail: f"of {mail}"})
    assert mail not in str(checked_details(stated, "repair", PatternRedactor(["email"])))


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)//https://example.com",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://example.com/",
        "//example.com/",
        "example.com",
        "https://",
        "https:///path",
        "https://ana:secret@example.com/",
        "https://ana@example.com/",
        "https://example.com\\@evil.example/",
        "https://exam\tple.com/",
        "https://example.com/a b",
        "https://example.com/\u202ea",
        "https://[::1/",
        "https://example.com/" + "a" * 2_000,
    ],
)
def test_hostile_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInputError, match="the url"):
        checked_details(SourceDetails(url=url), "repair", None)


@pytest.mark.parametrize(
    "metadata",
    [
        {"a": {"b": 1}},
        {"a": [[1]]},
        {"a": None},
        {"": 1},
        {"a" * 101: 1},
        {"a": float("nan")},
        {"a": 2**60},
        {f"{number:0>100}": 1e308 for number in range(100)},
        {"\x00": 1, "\ufffd": 2},
        {"a": "é" * 8_200},
        {str(number): number for number in range(101)},
    ],
)
def test_other_metadata_are_refused(metadata: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="metadata"):
        checked_details(SourceDetails(metadata=metadata), "repair", None)


def test_bytes_decide_over_a_stated_format() -> None:
    pdf, page = media_type_of(b"%PDF-1.7", "a"), media_type_of(b"<html>", "a.html")
    assert pdf.document_type_of(DocumentType.IMAGE) == DocumentType.PDF
    assert pdf.document_type_of(None) == DocumentType.PDF
    assert pdf.document_type_of(DocumentType.GOOGLE_SLIDE) == DocumentType.GOOGLE_SLIDE
    assert page.document_type_of(None) == DocumentType.WEBPAGE
    assert media_type_of(b"\0\1\2", "a").document_type_of(None) == DocumentType.FILE


def test_kind_is_the_type_of_other_sources() -> None:
    assert Provenance.of("note", None).document_type == "note"
    assert Provenance.of("upload", None).document_type == "file"
    assert Provenance.of("event", {"document_type": "video", "version": 2}).version == 2
