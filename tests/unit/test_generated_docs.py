"""The generated pages of the documentation match the code."""

from __future__ import annotations

import os
import subprocess
import sys

from neurigraph_pipelines.database.paging import MAX_PAGE
from neurigraph_pipelines.faces.api.body_limit import BODIES_TOGETHER, MAX_BODY_BYTES, SLOWEST_BYTES_PER_SECOND
from neurigraph_pipelines.faces.api.server import MAX_HEAD_BYTES
from neurigraph_pipelines.faces.operations.requests import MAX_MESSAGES
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.retrieval.query.question import MAX_LIMIT, MAX_MESSAGE_LIMIT, MAX_QUERY_CHARACTERS
from neurigraph_pipelines.settings import list_settings
from neurigraph_pipelines.text.external_ids import MAX_EXTERNAL_ID_LENGTH
from neurigraph_pipelines.text.hygiene import FIRST_YEAR, LAST_YEAR, MAX_NAME_CHARACTERS
from neurigraph_pipelines.views.base import MAX_FIELDS
from tests.conftest import ROOT


def test_generated_pages_are_current() -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NEURIGRAPH_")}
    command = [
        sys.executable,
        str(ROOT / "docs" / "generate.py"),
        "--check",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=kept, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_api_page_states_limits() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    limits = page[page.index("## Limits") :]
    defaults = {setting.variable: setting.field.default for setting in list_settings()}
    for row in [
        f"| request body | {MAX_BODY_BYTES:,} bytes",
        f"| messages in one request | {MAX_MESSAGES:,} |",
        f"| fields of one object | {MAX_FIELDS} |",
        f"| {BODIES_TOGETHER * MAX_BODY_BYTES:,} bytes |",
        f"| {MAX_HEAD_BYTES:,} bytes |",
        f"and a second for every {SLOWEST_BYTES_PER_SECOND} bytes of it",
        *(
            f"| {defaults[f'NEURIGRAPH_{name.upper()}']:,.0f}{unit} | `NEURIGRAPH_{name.upper()}` |"
            for name, unit in (
                ("api_requests_per_minute", ""),
                ("api_concurrent_requests", ""),
                ("api_connections", ""),
                ("api_client_seconds", " seconds"),
                ("database_wait_seconds", " seconds"),
                ("statement_timeout_seconds", " seconds"),
            )
        ),
        f"| {defaults['NEURIGRAPH_MAX_MESSAGE_BYTES']:,} bytes of UTF-8",
        f"| {MAX_TITLE_LENGTH}; {MAX_EXTERNAL_ID_LENGTH}; {MAX_NAME_CHARACTERS} characters |",
        f"| query | {MAX_QUERY_CHARACTERS:,} characters |",
        f"| `limit`; `message_limit` of a search | {MAX_LIMIT}; {MAX_MESSAGE_LIMIT:,} |",
        f"| `limit` of a page | {MAX_PAGE} |",
        f"the years {FIRST_YEAR} to {LAST_YEAR}",
    ]:
        assert row in limits, row
