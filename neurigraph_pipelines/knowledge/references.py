"""Links from memories to the sources whose addresses their messages name, such as a web page that was added before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Detector, Message
from neurigraph_pipelines.model.links import MAX_LINK_MESSAGES, LinkEnd, StatedLink
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.kinds import EndKind

OBSERVER = "rule:references"

CONFIDENCE = 0.9
"""The message names the very address of the source."""

MAX_ADDRESSES = 100
"""Most addresses of one memory that are looked up."""

_MAX_LENGTH = 2_000
_ADDRESS = re.compile(r"https?://[^\s<>\"'`{}|\\^\[\]]+")
_AFTER = ".,;:!?…»”’*_"
_QUERIES = statements("links")


def find_references(tx: Transaction, record_id: UUID, user_id: UUID, messages: Sequence[Message]) -> list[StatedLink]:
    """Return a link to the newest version of each source whose address some messages of a record name.

    The source of the record itself is left out.
    """
    named: dict[str, list[int]] = {}
    for message in messages:
        for address in addresses_in(message.content):
            if address not in named and len(named) == MAX_ADDRESSES:
                break
            said = named.setdefault(address, [])
            if message.seq not in said:
                said.append(message.seq)
    if not named:
        return []
    spelled = {spelling: said for address, said in named.items() for spelling in _spellings(address)}
    values = {"record_id": record_id, "user_id": user_id, "addresses": list(spelled)}
    return [
        StatedLink(
            LinkEnd.record(record_id),
            LinkEnd(EndKind.SOURCE, row["source_id"]),
            "references",
            OBSERVER,
            Detector.RULE,
            CONFIDENCE,
            CONFIDENCE,
            "the message names its address",
            tuple(spelled[row["url"]][:MAX_LINK_MESSAGES]),
        )
        for row in tx.execute(_QUERIES["sources_at"], values)
    ]


def addresses_in(text: str) -> Iterator[str]:
    """Yield the web addresses in a text, without the punctuation of the sentence around them."""
    for match in _ADDRESS.finditer(text):
        address = match[0].rstrip(_AFTER)
        if len(address) > _MAX_LENGTH:
            continue
        while address.endswith(")") and address.count("(") < address.count(")"):
            address = address[:-1].rstrip(_AFTER)
        if not address.endswith("//"):
            yield address


def _spellings(address: str) -> set[str]:
    """Return an address with and without its fragment, and with and without a slash at its end."""
    page = address.partition("#")[0]
    return {address, page, page.rstrip("/"), page.rstrip("/") + "/"}
