"""Generated requests for every operation of the OpenAPI document, valid and invalid.

Schemathesis makes the requests from the document, the same ones in each run. No response is a server error, and each
has the documented form. Beside them, one request by hand succeeds for each operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import hypothesis
import pytest
import requests
import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from neurigraph_pipelines.access import accounts
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.access.spaces import add_space
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.organizations import invitations, membership
from neurigraph_pipelines.exchange.webhooks import subscriptions
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.lifecycle.archive import archive
from neurigraph_pipelines.model import GrantType, NodeType, SubjectType
from neurigraph_pipelines.views.kinds import ActionKind
from tests.conftest import ADMIN_KEY
from tests.support.api_server import serving
from tests.support.callers import Caller, Ids, new_owner
from tests.support.memories import new_user, rows
from tests.support.openapi import document, operations
from tests.support.two_users import World

pytestmark = pytest.mark.attack

OPERATIONS = [one for one in operations() if one[0].startswith(("/v1/", "/v3/", "/chat/"))]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SETTINGS = hypothesis.settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
UNDOCUMENTED = {405, 415}  # refused before the operation is known
MESSAGES = [{"role": "user", "content": "The keel needs bolts."}]
# Bodies and queries of requests that succeed; the names of ids stand for ids that exist. Others need neither.
BODIES: dict[str, dict[str, Any]] = {
    "post /v1/users": {"slug": "by-hand"},
    "patch /v1/account": {"display_name": "Alice"},
    "put /v1/account/password": {"password": "correct horse battery"},
    "post /v1/sign-in": {"user": "{user_slug}", "password": "correct horse battery"},
    "post /v1/memories": {"messages": MESSAGES},
    "post /v1/conversations": {"title": "A talk"},
    "post /v1/conversations/{conversation_id}/messages": {"messages": MESSAGES},
    "patch /v1/conversations/{conversation_id}": {"privacy": "shared"},
    "post /v1/events": {"kind": "meeting", "title": "Plans", "messages": MESSAGES},
    "post /v1/events/{event_id}/messages": {"messages": MESSAGES},
    "patch /v1/events/{event_id}": {"privacy": "shared"},
    "post /v1/notes": {"content": "The keel needs bolts.", "node_id": "{node_id}", "tags": ["boats"]},
    "patch /v1/notes/{note_id}": {"privacy": "shared"},
    "post /v1/files": {"file": b"Some notes."},
    "patch /v1/uploads/{upload_id}": {"privacy": "shared"},
    "post /v1/search": {"query": "Whom did I meet?"},
    "post /v1/ask": {"query": "Whom did I meet?"},
    "post /v1/context": {"query": "Whom did I meet?"},
    "post /v1/duplicates": {"text": "I met Ana."},
    "post /v1/facts/query": {"query": "Whom did I meet?", "kind": "why", "include_graph": True},
    "post /v1/nodes": {"parent_node_id": "{node_id}", "name": "New"},
    "patch /v1/nodes/{node_id}": {"name": "Renamed"},
    "patch /v1/records/{record_id}": {"title": "Renamed"},
    "post /v1/records/{record_id}/supersede": {"by": None},
    "post /v1/records/{record_id}/move": {"node_id": "{home_id}"},
    "post /v1/records/move": {"node_id": "{home_id}", "record_ids": ["{record_id}"]},
    "post /v1/nodes/{node_id}/merge": {"into_node_id": "{home_id}"},
    "post /v1/nodes/{node_id}/split": {"name": "Part", "keyword": "Ana"},
    "post /v1/nodes/{node_id}/aliases": {"value": "By hand"},
    "post /v1/edges/{edge_id}/evidence": {"stance": "ends", "valid_until": "2150-01-01T00:00:00Z"},
    "post /v1/facts": {"statement": "The keel needs bolts.", "node_id": "{node_id}", "metadata": {"by": "hand"}},
    "patch /v1/facts/{fact_id}": {"tags": ["by hand"]},
    "post /v1/links": {"from_fact_id": "{fact_id}", "relation": "supports", "to_record_id": "{record_id}"},
    "post /v1/links/{link_id}/end": {"valid_until": "2150-01-01T00:00:00Z"},
    "post /v1/signing-keys": {"public_key": "QSBrZXkgdGhhdCBpcyByZWdpc3RlcmVkIGJ5IGhhbmQ="},
    "post /v1/signing-keys/{signing_key_id}/rotate": {"public_key": "QSBrZXkgdGhhdCBjb21lcyBhZnRlciBhIG9sZCBvbmU="},
    "put /v1/records/{record_id}/retention": {"tier": "mid", "reason": "by hand"},
    "post /v1/digests": {"record_ids": ["{record_id}", "{home_record_id}"]},
    "post /v1/archive": {"record_ids": ["{record_id}"], "reason": "by hand"},
    "post /v1/archive/restore": {"record_ids": ["{record_id}"]},
    "post /v1/archive/purge": {"older_than_days": 1},
    "post /v1/keys": {"label": "by hand"},
    "put /v1/nodes/{node_id}/standard": {"write": "approve", "approver": "human"},
    "post /v1/actions": {"kind": "delete", "record_id": "{record_id}"},
    "post /v1/actions/{action_id}/votes": {"approves": False},
    "post /v1/organizations": {"slug": "by-hand-organization", "name": "By hand", "metadata": {"town": "Oslo"}},
    "patch /v1/organizations/{organization_id}": {"name": "Renamed"},
    "patch /v1/organizations/{organization_id}/members/{member_id}": {"role": "admin"},
    "post /v1/organizations/{organization_id}/keys": {"label": "by hand"},
    "post /v1/organizations/{organization_id}/invitations": {"label": "by hand", "hours": 1},
    "post /v1/invitations/accept": {"code": "{code}"},
    "post /v1/webhooks": {"url": "http://127.0.0.1:9/x", "events": ["record.*"]},
    "patch /v1/webhooks/{webhook_id}": {"path_glob": "Family/*", "state": "paused"},
    "post /v1/webhooks/{webhook_id}/replay": {"delivery_id": None},
    "post /v1/mirror/nodes/{node_id}/records": {"record_ids": ["{record_id}"]},
    "post /v1/spaces": {"container_tag": "by_hand", "entity_context": "A garden.", "metadata": {"size": 3}},
    "patch /v1/spaces/{space_id}": {"name": "By hand"},
    "post /v1/spaces/{space_id}/sources": {"source_ids": ["{conversation_id}"]},
    "post /v1/quarantines": {"source_id": "{conversation_id}", "reason": "by hand"},
    "post /v1/quarantines/preview": {"source_id": "{conversation_id}", "reason": "by hand"},
    "post /v3/documents": {"content": "The keel needs bolts.", "type": "pdf", "metadata": {"source": "hand"}},
    "post /v3/search": {"q": "Whom did I meet?", "scopedDocumentIds": ["{conversation_id}"], "recencyWeight": 0.5},
    "post /chat/v2": {
        "messages": [{"role": "user", "content": "Whom did I meet?"}],
        "mode": "agentic",
        "stream": False,
    },
    "post /v1/grants": {"third_party": "mallory", "node_id": "{node_id}"},
}
QUERIES = {
    "get /v1/mirror": {"nonce": "0" * 32},
    "get /v1/mirror/nodes/{node_id}": {"nonce": "0" * 32},
    "post /v1/mirror/nodes/{node_id}/records": {"nonce": "0" * 32},
    "get /v1/aliases": {"value": "Ana"},
    "get /v1/grants/preview": {"node_id": "{node_id}"},
    "delete /v1/nodes/{node_id}/aliases": {"value": "known"},
    "get /v1/records/{record_id}/diff": {"from_at": "2001-01-01T00:00:00Z"},
    "delete /v1/users/{user_id}": {"dry_run": "true"},
}


SHORT_WAIT = 0.05


@dataclass(frozen=True, slots=True)
class Target:
    """A server with a user who has memories, and ids that exist, by the name of their parameter."""

    address: str
    key: str
    ids: dict[str, str]


@pytest.fixture(scope="module")
def target(world: World) -> Iterator[Target]:
    (ids,) = rows(
        world.installation,
        """SELECT r.record_id::text, r.node_id::text, f.file_id::text, s.source_id::text AS conversation_id
        FROM neurigraph.record_index AS r
        INNER JOIN neurigraph.file_index AS f ON f.record_id = r.record_id
        INNER JOIN neurigraph.sources AS s ON s.user_id = r.user_id AND s.external_id = 'unfinished'
        WHERE r.user_id = %s""",
        world.alice.user_id,
    )
    local = {"webhook_local_hosts": ("127.0.0.1",)}
    world.installation.settings = world.installation.settings.changed(**local)
    with serving(world.installation) as address:
        yield Target(address, issue_api_key(world.installation.database, world.alice.user_id), ids)


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda part: part)
@pytest.mark.slow
def test_generated_requests(target: Target, path: str, method: str) -> None:
    schema = schemathesis.openapi.from_dict(document())
    operation = schema[path][method.upper()]
    key = ADMIN_KEY if path == "/v1/users" else target.key
    existing = {name: target.ids[name] for name in target.ids if f"{{{name}}}" in path}
    session = requests.Session()

    def send(case: schemathesis.Case[Any]) -> None:
        case.headers.pop("Authorization", None)
        if isinstance(case.query.get("wait"), int | float):  # a valid wait stays valid, and is over at once
            case.query["wait"] = min(case.query["wait"], SHORT_WAIT)
        answer = case.call(target.address, session, headers={"Authorization": f"Bearer {key}"}, timeout=30)
        if answer.status_code in UNDOCUMENTED:
            assert answer.headers["content-type"] == ["application/problem+json"]
        else:
            case.validate_response(answer, checks=CHECKS)

    strategies = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]
    if existing and method != "delete":
        strategies.append(operation.as_strategy(path_parameters=existing))
    for strategy in strategies:
        SETTINGS(hypothesis.given(strategy)(send))()


@pytest.fixture(scope="module")
def owner(world: World) -> tuple[Caller, dict[str, Ids]]:
    """A user with a node for each operation that changes something, and one for all that read."""
    return new_owner(world.installation, [*dict.fromkeys(map(_node_of, OPERATIONS)), "home"])


def _node_of(operation: tuple[str, str]) -> str:
    """Return the node that an operation is called with: some remove it."""
    return "read" if operation[1] == "get" else f"call{OPERATIONS.index(operation)}"


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda part: part)
def test_request_by_hand_succeeds(
    world: World, target: Target, owner: tuple[Caller, dict[str, Ids]], path: str, method: str
) -> None:
    """Generated requests could all be refused. A new operation needs its line in ``BODIES`` or ``QUERIES``."""
    caller, nodes = owner
    ids = {f"{name}_id": value for name, value in nodes[_node_of((path, method))].texts().items()}
    spare, _ = sharing.issue_key(world.installation.database, caller.claims)
    ids |= {"home_id": str(nodes["home"].node), "user_id": str(caller.claims.user_id), "key_id": str(spare.key_id)}
    ids["source_id"] = ids["document_id"] = ids["conversation_id"]
    ids["home_record_id"] = str(nodes["home"].record)
    if "{quarantine_id}" in path:
        rule = {"source_id": ids["conversation_id"], "reason": "to be released"}
        headers = {"Authorization": f"Bearer {caller.key}"}
        made = requests.post(f"{target.address}/v1/quarantines", json=rule, headers=headers, timeout=30).json()
        ids["quarantine_id"] = made["quarantine_id"]
    key = ADMIN_KEY if path == "/v1/users" else caller.key
    if "/actions" in path:
        persona = _asking_persona(world, caller, UUID(ids["node_id"]))
        doubt = Doubt(ActionKind.DELETE, caller.claims.user_id, "contradiction", "tests", UUID(ids["fact_id"]))
        with world.installation.database.pipeline() as tx:
            ids["action_id"] = str(propose(tx, doubt).action_id)
        key = persona if method == "post" and path == "/v1/actions" else key
    if path.startswith("/v1/mirror"):
        peer = sharing.Subject(SubjectType.THIRD_PARTY, "laptop")
        sharing.grant(world.installation.database, caller.claims, peer, UUID(ids["node_id"]), GrantType.READ)
        key = sharing.issue_key(world.installation.database, caller.claims, subject=peer)[1]
    if "{webhook_id}" in path:
        outbox = world.installation.webhooks.acting_for(caller.claims)
        ids["webhook_id"] = str(subscriptions.add(outbox, "http://127.0.0.1:9/x").webhook_id)
    if "organization" in path or "invitation" in path:
        ids |= _organization(world, caller)
    if "{space_id}" in path:
        asking = world.installation.acting_for(caller.claims)
        ids["space_id"] = str(add_space(asking, f"space_{uuid4().hex[:8]}").space_id)
    if path == "/v1/sign-in":
        ids["user_slug"] = _with_password(world, caller)
    if path == "/v1/archive/restore":
        archive(world.installation.acting_for(caller.claims), [UUID(ids["record_id"])], "to be restored")
    name = f"{method} {path}"
    body = {field: _filled_in(value, ids) for field, value in BODIES.get(name, {}).items()}
    form: dict[str, Any] = {"body": body, "media_type": _media_type(path, method)} if body else {}
    case = schemathesis.openapi.from_dict(document())[path][method.upper()].Case(
        path_parameters={name: value for name, value in ids.items() if f"{{{name}}}" in path},
        query={field: _filled_in(value, ids) for field, value in QUERIES.get(name, {}).items()},
        **form,
    )
    answer = case.call(target.address, headers={"Authorization": f"Bearer {key}"}, timeout=30)
    assert 200 <= answer.status_code < 300, answer.text
    case.validate_response(answer, checks=CHECKS)


def _asking_persona(world: World, caller: Caller, node_id: UUID) -> str:
    """Return the key of a persona that may write to a node, where deleting needs an approval."""
    database = world.installation.database
    root = rows(world.installation, "SELECT path[1] AS node FROM neurigraph.graph_index WHERE node_id = %s", node_id)
    made = sharing.add_node(database, caller.claims, root[0]["node"], f"P{uuid4().hex[:8]}", node_type=NodeType.PERSONA)
    persona = sharing.Subject(SubjectType.PERSONA, str(made))
    sharing.grant(database, caller.claims, persona, node_id, GrantType.READ_WRITE)
    with database.agent(caller.claims) as tx:
        tx.execute(
            "INSERT INTO neurigraph.node_standards (node_id, user_id, delete_rule) VALUES (%s, %s, 'approve') "
            "ON CONFLICT DO NOTHING",
            [node_id, caller.claims.user_id],
        )
    return sharing.issue_key(database, caller.claims, subject=persona)[1]


def _with_password(world: World, caller: Caller) -> str:
    """Give the user the password of ``BODIES``; return the slug."""
    accounts.set_password(world.installation.database, caller.claims, "correct horse battery")
    return accounts.get_account(world.installation.database, caller.claims).slug


def _filled_in(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_filled_in(one, ids) for one in value]
    if isinstance(value, dict):
        return value
    return value.format(**ids) if isinstance(value, str) else value


def _media_type(path: str, method: str) -> str:
    (media_type,) = document()["paths"][path][method]["requestBody"]["content"]
    return str(media_type)


def _organization(world: World, caller: Caller) -> dict[str, str]:
    """Return the ids of an organization of a caller with a member and an invitation, and the code of another one."""
    database = world.installation.database
    _, member = new_user(world.installation)
    made, _ = membership.create(database, caller.claims, f"org-{uuid4().hex[:8]}", "An organization")
    invited, code = invitations.invite(database, caller.claims, made.organization_id)
    invitations.accept(database, member, code)
    others, _ = membership.create(database, member, f"org-{uuid4().hex[:8]}", "Another one")
    return {
        "organization_id": str(made.organization_id),
        "member_id": str(member.user_id),
        "invitation_id": str(invited.invitation_id),
        "code": invitations.invite(database, member, others.organization_id)[1],
    }
