"""A persona's keys read what lies at and below it: only its own words, and what an owner puts there, go there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.aliases import give_alias
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.inbox.triggers import lease_due
from neurigraph_pipelines.inbox.vaults import import_vault
from neurigraph_pipelines.ingestion.batch import assign_nodes, commit, embed, extract_keywords, summarize
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.lifecycle.erasure.forget import forget, preview
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import AliasType, Claims, GrantType, NodeType, Role, SourceKind, SubjectType
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.messages import IncomingMessage
from neurigraph_pipelines.retrieval.open import file_of_record, open_messages
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.unstored import open_unstored
from neurigraph_pipelines.runtime.doctor import memory
from neurigraph_pipelines.runtime.doctor.findings import Finding, Level
from neurigraph_pipelines.wiring.installation import Installation
from resources.offline.language_model import OfflineLanguageModel
from resources.providers.retries import ProviderClient
from tests.support.memories import converse, ingest, make_persona, rows, stored
from tests.support.model_clients import make_client, make_model
from tests.support.model_provider import Fault, ModelProvider

LAWYER, SECRETARY = "Lawyer", "Lawyer/Secretary"
_PATHS = """SELECT i.record_id, array_to_string(n.names[2:], '/') AS path
FROM neurigraph.record_index AS i
JOIN neurigraph.graph_index AS g ON g.node_id = i.node_id
CROSS JOIN LATERAL (SELECT array_agg(a.node_name ORDER BY a.layer_depth) AS names FROM neurigraph.graph_index AS a
    WHERE a.node_id = ANY(g.path)) AS n
WHERE g.user_id = %s ORDER BY i.created_at"""


@pytest.fixture
def lawyer(here: Installation, bob: tuple[User, Claims]) -> UUID:
    """A persona at the top of Bob's graph with a node below it, and one that lies deeper."""
    user, claims = bob
    persona = sharing.add_node(
        here.database, claims, user.root_node_id, LAWYER, node_type=NodeType.PERSONA, summary="The lawyer of the court."
    )
    sharing.add_node(here.database, claims, persona, "Secretary")
    money = sharing.add_node(here.database, claims, user.root_node_id, "Money")
    sharing.add_node(here.database, claims, money, "Banker", node_type=NodeType.PERSONA)
    return persona


@pytest.fixture
def client(provider: ModelProvider) -> Iterator[ProviderClient]:
    opened = make_client(provider)
    yield opened
    opened.close()


def paths(here: Installation, user: User) -> list[str]:
    return [row["path"] for row in rows(here, _PATHS, user.user_id)]


def findings(here: Installation, user: User) -> list[Finding]:
    """What the doctor finds in a user's graph."""
    return [one for one in memory.personas(here) if f"--user {user.slug} " in str(one.remedy)]


@pytest.mark.usefixtures("lawyer")
@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("#Lawyer My hidden account is in Vaduz.", ""),
        ("#Lawyer/Secretary My hidden account is in Vaduz.", ""),
        ("#Lawyer/New My hidden account is in Vaduz.", ""),
        ("#Money/Banker My hidden account is in Vaduz.", "Money"),
        ("#Money My hidden account is in Vaduz.", "Money"),
        ("The lawyer, the lawyer: my hidden account at the court is what the lawyer of the court must not see.", None),
    ],
)
def test_words_that_name_a_persona_are_filed_above_it(
    here: Installation, context: Context, bob: tuple[User, Claims], words: str, path: str | None
) -> None:
    user, claims = bob
    converse(here, claims, words)
    (record,) = stored(ingest(context, user))
    (found,) = paths(here, user)
    assert found == path if path is not None else not found.startswith((LAWYER, "Money/Banker"))
    assert record.node_path == "/".join(filter(None, (user.slug, found)))
    assert findings(here, user) == []


@pytest.mark.usefixtures("lawyer")
def test_no_step_files_at_a_persona(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, "#Agent They meet on Monday.")
    ingest(context, user)
    with here.database.agent(claims) as tx:
        agent = find_node(tx, user.user_id, "Agent")
    converse(here, claims, "#Lawyer My hidden account is in Vaduz.")
    converse(here, claims, "#Agent My other account is in Bern.")
    detect(context)
    batch = lease_due(context, "test", user.user_id)
    assert batch is not None
    assigned = assign_nodes(context, batch.batch_id)
    assert {plan.filing.path for plan in assigned.plans} == {(), ("Agent",)}, "the model sees no persona"
    make_persona(here, agent)
    summarized = summarize(context, assigned)
    described = extract_keywords(context, assigned, summarized)
    commit(context, assigned, summarized, described, embed(context, assigned, summarized))
    assert paths(here, user) == ["Agent", "", ""], "the commit looks again"


@pytest.mark.usefixtures("lawyer")
def test_answer_of_a_model_decides_no_access(
    here: Installation, context: Context, bob: tuple[User, Claims], provider: ModelProvider, client: ProviderClient
) -> None:
    user, claims = bob
    steps = [
        {"name": name, "kind": "topic", "confidence": 1.0, "summary": "", "keywords": [], "aliases": []}
        for name in SECRETARY.split("/")
    ]
    relations = [{"other": "Edda", "kind": "person", "label": "sister", "strength": 1.0}]
    placement = {"first_message": 1, "last_message": 1, "steps": steps, "relations": relations}
    answer = Fault("wrong_shape", answer={"placements": [placement]})
    provider.fail_when("", answer, "PlacementsAnswer")
    for _ in range(6):
        converse(here, claims, "My sister Edda has a hidden account.")
    assert len(stored(ingest(context.using(language_model=make_model(client)), user))) == 6
    assert set(paths(here, user)) == {""}
    below = rows(
        here, "SELECT node_name FROM neurigraph.graph_index WHERE layer_depth = 2 AND user_id = %s", user.user_id
    )
    assert {row["node_name"] for row in below} == {"Secretary", "Banker"}


@pytest.mark.parametrize(
    ("name", "alias", "words"),
    [
        ("Health", None, "My doctor gave me ramipril for my blood pressure."),
        ("Health", None, "Mein Arzt hat mir Tabletten gegen den Blutdruck verschrieben."),
        ("Coach", "Health", "My doctor gave me ramipril, and the coach of my health knows nothing of it."),
        ("Dave", None, "My employee Dave runs the product launch. Dave met the deadline, and Dave deserves a raise."),
        ("Anwältin", None, "Die Anwältin weiß nichts vom Konto. Die Anwältin fragt beim Gericht. Anwältin Kern klagt."),
        ("Abogado", "Tomás Gil", "Tomás Gil no sabe de la cuenta. Tomás Gil llamó al banco. Escribí a Tomás Gil."),
    ],
)
def test_offline_model_files_nothing_below_a_persona_by_name(
    here: Installation, context: Context, bob: tuple[User, Claims], name: str, alias: str | None, words: str
) -> None:
    user, claims = bob
    persona = sharing.add_node(here.database, claims, user.root_node_id, name, node_type=NodeType.PERSONA)
    if alias is not None:
        give_alias(here.database, claims, persona, AliasType.NAME, alias)
    for _ in range(3):
        converse(here, claims, words)
    assert len(stored(ingest(context.using(language_model=OfflineLanguageModel(None)), user))) == 3
    assert not any(path.split("/")[0] == name for path in paths(here, user))
    below = "SELECT FROM neurigraph.graph_index WHERE user_id = %s AND %s = ANY(path) AND node_id <> %s"
    assert rows(here, below, user.user_id, persona, persona) == []
    assert findings(here, user) == []


def test_folder_of_a_vault_decides_no_access(
    here: Installation, context: Context, bob: tuple[User, Claims], lawyer: UUID, tmp_path: Path
) -> None:
    _, claims = bob
    vault = tmp_path / LAWYER
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Account.md").write_text("My hidden account is in Vaduz.")
    report = import_vault(here.acting_for(claims), context.settings, vault)
    assert (report.added, ["rename the folder" in one.reason for one in report.rejected]) == (0, [True])
    assert rows(here, "SELECT FROM neurigraph.graph_index WHERE parent_node_id = %s", lawyer) == [{}]


def test_persona_and_owner_file_there(
    here: Installation, context: Context, bob: tuple[User, Claims], lawyer: UUID
) -> None:
    user, claims = bob
    subject = sharing.Subject(SubjectType.PERSONA, str(lawyer))
    sharing.grant(here.database, claims, subject, lawyer, GrantType.READ_WRITE)
    converse(here, Claims(str(lawyer), "persona", user.user_id), "#Lawyer The court sits on Monday.")
    write_note(here.acting_for(claims), IncomingNote("The court has a new judge.", node_id=lawyer))
    write_note(here.acting_for(claims), IncomingNote("The secretary is called Ida.", path=SECRETARY))
    ingest(context, user)
    assert sorted(paths(here, user)) == [LAWYER, LAWYER, SECRETARY]
    assert findings(here, user) == []


@pytest.mark.parametrize("ended", [True, False])
def test_owner_speaks_in_a_conversation_of_a_persona(
    here: Installation, context: Context, bob: tuple[User, Claims], lawyer: UUID, ended: bool
) -> None:
    """The persona reads back its own talk, and nothing of what the owner said in it."""
    user, claims = bob
    sharing.grant(
        here.database, claims, sharing.Subject(SubjectType.PERSONA, str(lawyer)), lawyer, GrantType.READ_WRITE
    )
    persona = Claims(str(lawyer), "persona", user.user_id)
    source_id = converse(here, persona, "#Lawyer The court sits on Monday.", "#Lawyer It is in Bern.", ended=False)
    inbox = Inbox(context)
    more = (
        (claims, IncomingMessage(Role.USER, "#Lawyer My hidden account is in Vaduz.")),
        (persona, IncomingMessage(Role.ASSISTANT, "#Lawyer The judge is new.")),
    )
    for speaker, message in more:
        with here.database.agent(speaker) as tx:
            inbox.append(tx, SourceKind.CONVERSATION, source_id, [message])
    unstored = open_unstored(context.acting_for(persona), source_id).messages
    assert [one.seq for one in unstored] == [1, 2, 4], "nor before it is stored"
    assert "Vaduz" not in str(search(context.acting_for(persona), Question("hidden account in Vaduz")))
    assert len(open_unstored(context.acting_for(claims), source_id).messages) == 4
    sizes = context.settings
    if ended:
        with here.database.agent(claims) as tx:
            inbox.end(tx, SourceKind.CONVERSATION, source_id)
    else:
        sizes = sizes.changed(chunk_watch_tokens=20, chunk_target_tokens=25, chunk_limit_tokens=500)
    records = stored(ingest(context.using(settings=sizes), user))
    assert sorted(paths(here, user)) == ["", LAWYER, LAWYER]
    assert findings(here, user) == []
    read = context.acting_for(persona)
    seen = []
    for record in records:
        with suppress(NotFoundError):
            file_id = file_of_record(here.database, persona, record.record_id)
            seen += [one.content for one in open_messages(read, file_id, None)]
    assert sorted(seen) == ["#Lawyer It is in Bern.", "#Lawyer The court sits on Monday.", "#Lawyer The judge is new."]


def test_doctor_lists_what_was_filed_at_a_persona(
    here: Installation, context: Context, bob: tuple[User, Claims]
) -> None:
    user, claims = bob
    converse(here, claims, "#Agent/Notes The first version filed this.")
    (record,) = stored(ingest(context, user))
    with here.database.agent(claims) as tx:
        agent = find_node(tx, user.user_id, "Agent")
    make_persona(here, agent)
    (finding,) = findings(here, user)
    assert (finding.level, f"--node {agent} --below" in str(finding.remedy)) == (Level.WARNING, True)
    move_records(here.database, claims, [record.record_id], user.root_node_id)
    assert findings(here, user) == []
    move_records(here.database, claims, [record.record_id], agent)  # the owner says so
    assert findings(here, user) == []


def test_doctor_lists_mixed_records_of_a_persona(
    here: Installation, context: Context, bob: tuple[User, Claims], lawyer: UUID
) -> None:
    user, claims = bob
    sharing.grant(
        here.database, claims, sharing.Subject(SubjectType.PERSONA, str(lawyer)), lawyer, GrantType.READ_WRITE
    )
    persona = Claims(str(lawyer), "persona", user.user_id)
    source_id = converse(here, persona, "#Lawyer The court sits on Monday.", "#Lawyer My account is in Vaduz.")
    (record,) = stored(ingest(context, user))
    assert findings(here, user) == []
    with here.database.owner() as tx:  # as the first versions stored a message of the owner
        tx.execute("UPDATE neurigraph.messages SET persona_id = NULL WHERE source_id = %s AND seq = 2", [source_id])
    (finding,) = findings(here, user)
    assert (finding.level, str(lawyer) in finding.found) == (Level.WARNING, True)
    move_records(here.database, claims, [record.record_id], user.root_node_id)
    assert findings(here, user) == []


@pytest.mark.parametrize("when", ["said", "detected", "failed"])
def test_forgotten_persona_leaves_no_words_waiting(
    here: Installation, context: Context, bob: tuple[User, Claims], lawyer: UUID, when: str
) -> None:
    """Nobody could file what it handed in: this goes with it, and the owner's words in its conversation are stored."""
    user, claims = bob
    sharing.grant(
        here.database, claims, sharing.Subject(SubjectType.PERSONA, str(lawyer)), lawyer, GrantType.READ_WRITE
    )
    persona = Claims(str(lawyer), "persona", user.user_id)
    converse(here, persona, "#Lawyer The bill is late.", external_id="alone", ended=False)
    write_note(here.acting_for(persona), IncomingNote("The clerk is ill.", node_id=lawyer))
    source_id = converse(here, persona, "#Lawyer The court sits on Monday.", external_id="both", ended=False)
    inbox = Inbox(context)
    for speaker, text in ((claims, "I pay on Friday."), (persona, "#Lawyer The judge is new.")):
        with here.database.agent(speaker) as tx:
            inbox.append(tx, SourceKind.CONVERSATION, source_id, [IncomingMessage(Role.USER, text)])
    if when != "said":
        with here.database.agent(claims) as tx:
            inbox.end(tx, SourceKind.CONVERSATION, source_id)
        detect(context)
    if when == "failed":
        with here.database.owner() as tx:
            tx.execute("DELETE FROM neurigraph.permission_grants WHERE user_id = %s", [user.user_id])
        assert len(stored(ingest(context, user))) == 1, "the owner's"
        states = "SELECT state FROM neurigraph.storage_triggers WHERE user_id = %s AND state <> 'stored'"
        assert rows(here, states, user.user_id) == 3 * [{"state": "failed"}]
    subject = ErasureSubject(SubjectKind.NODE, lawyer)
    expected = preview(here.database, claims, subject)
    assert (expected.waiting_messages, expected.nodes) == (4, [f"{user.slug}/Lawyer", f"{user.slug}/Lawyer/Secretary"])
    receipt = forget(here.acting_for(claims), subject, through="tests")
    assert (receipt.erased["messages"], receipt.erased["sources"]) == (4, 2)
    stored(ingest(context, user))
    assert paths(here, user) == ["Notes"]
    sources = "SELECT stored_through, last_message FROM neurigraph.sources WHERE user_id = %s AND ended_at IS NOT NULL"
    assert rows(here, sources, user.user_id) == [{"stored_through": 3, "last_message": 3}]
    waiting = "SELECT state FROM neurigraph.storage_triggers WHERE user_id = %s"
    assert rows(here, waiting, user.user_id) == [{"state": "stored"}]
    assert rows(here, "SELECT seq FROM neurigraph.messages WHERE user_id = %s", user.user_id) == [{"seq": 2}]
