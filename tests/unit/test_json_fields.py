"""Fields of JSON of other programs: a value of the wanted type, and nothing for any other."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.text.json_fields import Json, list_of, number_of, object_of, objects_of, text_of, texts_of


@pytest.mark.parametrize(
    ("value", "text", "number", "items", "objects", "fields"),
    [
        ("words", "words", None, [], [], {}),
        (" ", None, None, [], [], {}),
        (3, None, 3, [], [], {}),
        (True, None, None, [], [], {}),
        ([1, {"a": 2}], None, None, [1, {"a": 2}], [{"a": 2}], {}),
        ({"a": 2}, None, None, [], [], {"a": 2}),
        (None, None, None, [], [], {}),
    ],
)
def test_a_field_has_its_type_or_nothing(
    value: Json,
    text: str | None,
    number: int | None,
    items: list[Json],
    objects: list[Json],
    fields: dict[str, Json],
) -> None:
    row: dict[str, Json] = {"x": value, "y": "later"}
    assert (text_of(row, "x"), text_of(row, "x", "y"), text_of(row, "z")) == (text, text or "later", None)
    assert texts_of(row, "x", "y") == [*filter(None, [text]), "later"]
    assert (number_of(row, "x"), list_of(row, "x"), objects_of(row, "x")) == (number, items, objects)
    assert object_of(row, "x") == fields
