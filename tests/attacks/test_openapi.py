"""Generated requests for every operation of the OpenAPI document, valid and invalid.

Schemathesis makes the requests from the document, the same ones in each run. No response is a server error, and each
has the documented form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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

from neurigraph_pipelines.access import issue_api_key
from tests.conftest import ADMIN_KEY, ROOT
from tests.support.api_server import serving
from tests.support.memories import rows
from tests.support.two_users import World

pytestmark = pytest.mark.attack

DOCUMENT = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() if "/v1" in path for method in methods]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SETTINGS = hypothesis.settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
UNDOCUMENTED = {400, 405, 415}  # refused before the operation is known


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
    with serving(world.installation) as address:
        yield Target(address, issue_api_key(world.installation.database, world.alice.user_id), ids)


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda part: part)
def test_generated_requests(target: Target, path: str, method: str) -> None:
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    operation = schema[path][method.upper()]
    key = ADMIN_KEY if path == "/v1/users" else target.key
    existing = {name: target.ids[name] for name in target.ids if f"{{{name}}}" in path}
    session = requests.Session()

    def send(case: schemathesis.Case[Any]) -> None:
        case.headers.pop("Authorization", None)
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
