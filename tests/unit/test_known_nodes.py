"""Filing by what the user's nodes are called and keep, with words alone."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.ingestion.assign import assign_batch
from neurigraph_pipelines.model import ConceptKind, Outline, OutlineNode
from tests.support.chats import MODEL, chat

OUTLINE = Outline(
    (
        OutlineNode(("Business",), ConceptKind.TOPIC, keywords=("workshop",)),
        OutlineNode(("Hobbies",), ConceptKind.TOPIC),
        OutlineNode(("Regatta",), ConceptKind.TOPIC, keywords=("dinghy", "buoy")),
        OutlineNode(("Business", "Larch"), ConceptKind.PROJECT, keywords=("bench",)),
        OutlineNode(("Business", "Dave"), ConceptKind.PERSON, keywords=("foreman",)),
        OutlineNode(("Hobbies", "Carving"), ConceptKind.TOPIC, keywords=("gouge", "limewood")),
    )
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("The gouge of 12 mm must be sharpened.", ("Hobbies", "Carving")),
        ("The oil on the Larch prototype leaves marks; Dave tries another.", ("Business", "Larch")),
        ("The buoy off the point has moved.", ("Regatta",)),
        ("Dave says that the doctor found glaucoma in his hospital.", ("Health",)),
        ("Mrs Hale wants the receipts for the tax return.", ("Finance",)),
        ("Il tecnico ripara la lavatrice e il rubinetto del bagno.", ("Home",)),
    ],
)
def test_what_nodes_keep_decides(text: str, path: tuple[str, ...]) -> None:
    segment = chat(("user", text))
    (filings,) = assign_batch([segment], {segment.ref.user_id: OUTLINE}, MODEL, 0.75)
    assert isinstance(filings, list)
    assert filings[0].path[: len(path)] == path
    assert all(node.kind is not ConceptKind.PERSON for node in filings[0].new_nodes)
