"""What a grant would open, before it is given: counts, subjects, and memories that look foreign to the node."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.exchange import grant_previews, sharing
from neurigraph_pipelines.exchange.grant_previews import MOST_SHOWN, new_foreign_memories, preview_grant
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.model import Claims, NodeType, Privacy, SubjectType
from neurigraph_pipelines.model.errors import ForbiddenError, NotFoundError
from neurigraph_pipelines.views.access import GrantPreview
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.memories import ingest, plain_context, rows

FISHING = [
    "We caught two trout in the river with the new fishing rod.",
    "The fishing rod broke, and the trout got away in the river.",
    "A new fishing rod for trout costs ninety euros at the river shop.",
    "At the river the trout bite early, so take the fishing rod at five.",
    "Dave lent me his fishing rod for the trout in the river.",
    "The river was high, no trout took the bait of the fishing rod.",
]
TABLETS = "The doctor prescribed ramipril 5 mg against high blood pressure."
HIDDEN = "Zanzibar is where we meet in secret."


def file_in(here: Installation, bob: tuple[User, Claims], path: str, *texts: str, **more: Any) -> None:
    """Store notes in a node."""
    user, claims = bob
    for text in texts:
        write_note(here.acting_for(claims), IncomingNote(text, path=path, **more))
    ingest(plain_context(here), user)


def node_at(here: Installation, bob: tuple[User, Claims], path: str) -> Any:
    with here.database.agent(bob[1]) as tx:
        return find_node(tx, bob[0].user_id, path)


def preview(here: Installation, bob: tuple[User, Claims], path: str) -> GrantPreview:
    return preview_grant(here.acting_for(bob[1]), node_at(here, bob, path))


def test_foreign_memory_is_named(here: Installation, bob: tuple[User, Claims]) -> None:
    file_in(here, bob, "Hobbies", *FISHING, TABLETS)
    file_in(here, bob, "Hobbies/Chess", "Bishops are worth three pawns.")
    file_in(here, bob, "Hobbies", HIDDEN, privacy=Privacy.PRIVATE)
    found = preview(here, bob, "Hobbies")
    assert (found.node_path, found.record_count, len(found.newest)) == (f"{bob[0].slug}/Hobbies", 7, 7)
    assert [one.occurred_at for one in found.newest] == sorted((one.occurred_at for one in found.newest), reverse=True)
    assert (found.first_at, found.last_at) == (found.newest[-1].occurred_at, found.newest[0].occurred_at)
    assert ["ramipril" in one.title for one in found.foreign_looking] == [True]
    assert not [one.title for one in found.newest if "Zanzibar" in one.title or "Bishops" in one.title]
    assert rows(here, "SELECT FROM neurigraph.permission_grants WHERE user_id = %s", bob[0].user_id) == []


def test_memories_of_several_areas_and_without_any_are_not_foreign(
    here: Installation, bob: tuple[User, Claims]
) -> None:
    home = ["Paint the wall of the kitchen.", "The plumber mends the bathroom.", "New furniture for the living room."]
    money = ["Pay the tax in May.", "The bank raised the mortgage.", "Savings account: 3 percent interest."]
    file_in(here, bob, "House", *home, *money)
    assert not preview(here, bob, "House").foreign_looking, "the node has two areas"
    file_in(here, bob, "Hobbies", *FISHING, "4711.", "Ja.", "🎣", "Femi swapped the 24th with Ola.")
    assert not preview(here, bob, "Hobbies").foreign_looking


@pytest.mark.parametrize(
    ("path", "others", "foreign"),
    [
        (
            "Familie/Reisen",
            ["Der Flug nach Rom geht um neun.", "Das Hotel in Wien ist gebucht.", "Die Bahnreise dauert acht Stunden."],
            "Der Hausarzt hat Tabletten gegen Bluthochdruck verschrieben.",
        ),
        (
            "Casa",
            ["Hay que pintar la cocina.", "El fontanero arregla el baño.", "Los muebles del salón son nuevos."],
            "El médico me recetó pastillas para la tensión.",
        ),
    ],
)
def test_foreign_memory_is_named_in_other_languages(
    here: Installation, bob: tuple[User, Claims], path: str, others: list[str], foreign: str
) -> None:
    file_in(here, bob, path, *others, *(f"{one} {one}" for one in others), foreign)
    assert len(preview(here, bob, path).foreign_looking) == 1


def test_node_below_another_is_compared_by_its_own_memories(here: Installation, bob: tuple[User, Claims]) -> None:
    file_in(here, bob, "Health", f"{TABLETS} Again.", f"{TABLETS} Still.")
    file_in(here, bob, "Health/Rod", *FISHING)
    assert not preview(here, bob, "Health/Rod").foreign_looking
    assert preview(here, bob, "Health").record_count == 2


def test_few_or_similar_memories_are_not_foreign(here: Installation, bob: tuple[User, Claims]) -> None:
    file_in(here, bob, "River", *FISHING)
    file_in(here, bob, "Few", *FISHING[:2], TABLETS)
    file_in(here, bob, "Same", *(f"{TABLETS} {'!' * times}" for times in range(5)))
    counts = {path: preview(here, bob, path) for path in ("River", "Few", "Same")}
    assert {path: found.record_count for path, found in counts.items()} == {"River": 6, "Few": 3, "Same": 5}
    assert [found.foreign_looking for found in counts.values()] == [[], [], []]


def test_empty_and_large_nodes(here: Installation, bob: tuple[User, Claims], monkeypatch: pytest.MonkeyPatch) -> None:
    sharing.add_node(here.database, bob[1], bob[0].root_node_id, "Empty")
    found = preview(here, bob, "Empty")
    assert (found.record_count, found.compared, found.first_at, found.last_at) == (0, 0, None, None)
    assert found.newest == found.foreign_looking == []
    file_in(here, bob, "Large", *(f"Trout number {number} of the river." for number in range(MOST_SHOWN + 3)))
    found = preview(here, bob, "Large")
    assert (found.record_count, found.compared, len(found.newest)) == (MOST_SHOWN + 3, MOST_SHOWN + 3, MOST_SHOWN)
    monkeypatch.setattr(grant_previews, "MOST_COMPARED", 7)
    found = preview(here, bob, "Large")
    assert (found.record_count, found.compared, len(found.newest)) == (MOST_SHOWN + 3, 7, 7)


def test_only_the_owner_looks(here: Installation, bob: tuple[User, Claims], client: httpx.Client) -> None:
    file_in(here, bob, "Hobbies", *FISHING, TABLETS)
    user, claims = bob
    node = node_at(here, bob, "Hobbies")
    persona = sharing.add_node(here.database, claims, user.root_node_id, "Coach", node_type=NodeType.PERSONA)
    subjects = {
        "owner": None,
        "persona": Subject(SubjectType.PERSONA, str(persona)),
        "third party": Subject(SubjectType.THIRD_PARTY, "gmail"),
    }
    for subject in (subjects["persona"], subjects["third party"]):
        assert subject is not None
        sharing.grant(here.database, claims, subject, node)
    answers = {}
    for name, subject in subjects.items():
        key = sharing.issue_key(here.database, claims, subject=subject)[1]
        answers[name] = [
            client.get("/v1/grants/preview", params={"node_id": str(one)}, headers={"Authorization": f"Bearer {key}"})
            for one in (node, uuid4())
        ]
    assert {name: [one.status_code for one in found] for name, found in answers.items()} == {
        "owner": [200, 404],
        "persona": [403, 403],
        "third party": [403, 403],
    }
    assert (answers["owner"][0].json()["record_count"], len(answers["owner"][0].json()["foreign_looking"])) == (7, 1)
    with pytest.raises(ForbiddenError):
        preview_grant(here.acting_for(Claims("gmail", "third_party", user.user_id)), node)
    with pytest.raises(NotFoundError):
        preview_grant(here.acting_for(claims), uuid4())


def test_check_names_new_foreign_memories_of_granted_nodes(here: Installation, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    file_in(here, bob, "Hobbies", *FISHING, TABLETS)
    node = node_at(here, bob, "Hobbies")

    def found() -> list[Any]:
        return [one.record_id for one in new_foreign_memories(here.context) if one.user == user.slug]

    assert found() == [], "nobody else sees it"
    made, _ = sharing.grant(here.database, claims, Subject(SubjectType.THIRD_PARTY, "gmail"), node)
    (foreign,) = preview(here, bob, "Hobbies").foreign_looking
    assert found() == [foreign.record_id]
    with here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.record_index SET created_at = now() - interval '2 days' WHERE node_id = %s", [node]
        )
    assert found() == [], "it is not new"
    with here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.record_index SET created_at = now() WHERE node_id = %s", [node])
    sharing.revoke(here.database, claims, made.grant_id)
    assert found() == []


def test_command_previews_and_grants_nothing(
    here: Installation,
    bob: tuple[User, Claims],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file_in(here, bob, "Hobbies", *FISHING, TABLETS)
    describe(here.settings, monkeypatch)
    command = ["access", "preview", "Hobbies", "--user", bob[0].slug]
    assert entry.run([*command, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert GrantPreview.model_validate(shown) == preview(here, bob, "Hobbies")
    assert entry.run(command) == 0
    printed = capsys.readouterr().out
    assert f"{bob[0].slug}/Hobbies" in printed
    assert printed.count(shown["foreign_looking"][0]["record_id"]) == 2
    assert rows(here, "SELECT FROM neurigraph.permission_grants WHERE user_id = %s", bob[0].user_id) == []
