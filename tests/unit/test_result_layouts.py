"""Views laid out for a terminal."""

from __future__ import annotations

import sys
from uuid import UUID

import pytest
from rich.console import Console

from neurigraph_pipelines.faces.cli.result_layouts import shown
from neurigraph_pipelines.views.access import Persona, Personas

ID = UUID("7cdcb725-f8f1-483b-9790-ce180ffbfe33")
PERSONAS = Personas(personas=[Persona(node_id=ID, name="Legal", path="bob/Work/Legal", record_count=3)])


def printed(view: object) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(shown(view, "Done."))
    return captured.get()


def test_list_is_a_table_of_its_plain_fields() -> None:
    head, row = printed(PERSONAS).splitlines()
    assert head.split() == ["node", "id", "name", "path", "record", "count"]
    assert row.split() == [str(ID), "Legal", "bob/Work/Legal", "3"]


def test_ids_are_short_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert printed(PERSONAS).splitlines()[1].split()[0] == "7cdcb725"


def test_empty_list_and_no_result() -> None:
    assert printed(Personas(personas=[])).strip() == "Nothing found."
    assert printed(None).strip() == "Done."
