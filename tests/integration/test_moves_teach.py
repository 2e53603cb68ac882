"""What somebody moves by hand decides where the next like it is filed."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from resources.offline.language_model import OfflineLanguageModel
from tests.support.memories import converse, ingest, stored


@pytest.mark.parametrize(
    ("first", "next_one"),
    [
        ("The gouge of 12 mm needs a new handle.", "I sharpened the gouge on the fine stone."),
        ("Der Stechbeitel braucht einen neuen Griff.", "Den Stechbeitel habe ich auf dem Stein geschärft."),
    ],
)
def test_next_like_a_moved_memory_goes_there(
    here: Installation, context: Context, bob: tuple[User, Claims], first: str, next_one: str
) -> None:
    user, claims = bob
    offline = context.using(language_model=OfflineLanguageModel(None))
    hobbies = sharing.add_node(here.database, claims, user.root_node_id, "Hobbies")
    carving = sharing.add_node(here.database, claims, hobbies, "Carving")
    converse(here, claims, first)
    (record,) = stored(ingest(offline, user))
    assert not record.node_path.endswith("Carving")
    move_records(here.database, claims, [record.record_id], carving)
    converse(here, claims, next_one)
    (taught,) = stored(ingest(offline, user))
    assert taught.node_path == f"{user.slug}/Hobbies/Carving"
