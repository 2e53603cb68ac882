"""Writes ``neurigraph_client/operations.py``: a method for each operation of the OpenAPI document."""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

VIEWS = Path(__file__).parents[1] / "neurigraph_pipelines" / "views"
_HEAD = '''"""All operations in groups. Written by docs/generate.py from the OpenAPI document."""

# mypy: disable-error-code="empty-body"
# Decorators make methods of the signatures.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from neurigraph_client.calls import NOT_GIVEN, Group, Pages, Steps, W, asks, lists
from neurigraph_client.models import Given

if TYPE_CHECKING:
'''
_ALL = '''class Operations(Group[W]):
    """All groups."""

    def __init__(self, sender: W) -> None:
        """Make the groups, which call through one sender."""
        super().__init__(sender)'''
_FORMATS = {"uuid": "UUID", "date-time": "datetime", "date": "date"}
_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def written(api: Mapping[str, Any]) -> str:
    """Return the module for an OpenAPI document."""
    return _Writer(api).module()


class _Writer:
    def __init__(self, api: Mapping[str, Any]) -> None:
        self._api = api
        self._schemas = api["components"]["schemas"]
        self._views = {
            part.name: path.stem
            for path in sorted(VIEWS.glob("*.py"))
            for part in ast.parse(path.read_text("utf-8")).body
            if isinstance(part, ast.ClassDef)
        }
        self._used: set[str] = set()

    def module(self) -> str:
        groups: dict[str, list[str]] = {}
        for path, methods in self._api["paths"].items():
            for method, operation in methods.items():
                group, name = operation["operationId"].split(".")
                if lines := self._method(f"{method.upper()} {path}", name, operation):
                    groups.setdefault(group, []).append("\n".join(lines))
        classes = [
            f'class {_class_of(name)}(Group[W]):\n    """Operations of the group ``{name}``."""\n\n'
            + "\n\n".join(methods)
            for name, methods in groups.items()
        ]
        found = [f"        self.{name} = {_class_of(name)}(sender)" for name in groups]
        classes.append("\n".join([_ALL, *found]))
        names: dict[str, list[str]] = {}
        for view in sorted(self._used):
            names.setdefault(self._views[view], []).append(view)
        imports = [
            f"    from neurigraph_pipelines.views.{module} import {', '.join(names[module])}\n"
            for module in sorted(names)
        ]
        return _HEAD + "".join(imports) + "\n\n" + "\n\n\n".join(classes) + "\n"

    def _method(self, route: str, name: str, operation: Mapping[str, Any]) -> Sequence[str]:
        """Return a method; nothing for what is no JSON, or is no view."""
        sent = operation.get("requestBody", {}).get("content", {})
        returned = [one.get("content", {}) for status, one in operation["responses"].items() if status < "300"]
        views = list(dict.fromkeys(view for one in returned for view in self._returned(one)))
        if set(sent) - {"application/json"} or any(set(one) - {"application/json"} for one in returned):
            return []
        if not set(views) <= set(self._views):
            return []
        headers = {one["name"].lower() for one in operation.get("parameters", []) if one["in"] == "header"}
        query = [one for one in operation.get("parameters", []) if one["in"] == "query"]
        fields = self._fields(sent)
        item = self._item(views) if any(one["name"] == "cursor" for one in query) else None
        flags = [
            "body=True" if sent else "",
            f"query=({', '.join(json.dumps(one['name']) for one in query)},)" if sent and query else "",
            "changes=True" if "idempotency-key" in headers else "",
            "once=True" if self._is_once(route, operation, headers) else "",
        ]
        given = [
            *(f"{one}: UUID" for one in re.findall(r"{(\w+)}", route)),
            *self._parameters(query, fields, without={"cursor"} if item else set()),
            *(["etag: str | None = None"] if "if-match" in headers else []),
        ]
        self._used.update([item[1]] if item else views)
        result = f"Pages[{item[1]}]" if item else f"Steps[{' | '.join(views) or 'None'}]"
        named = " | ".join(f"{self._views[view]}.{view}" for view in ([item[1]] if item else views))
        does = f'lists("{route}", "{item[0]}"' if item else f'asks("{route}"'
        about = operation["description"].split("\n\n")[0].replace("\n", " ").replace("\\", "")
        return [
            f"    @{', '.join([does, json.dumps(named), *filter(None, flags)])})",
            f"    def {name}({', '.join(['self', *_ordered(given)])}) -> {result}:",
            f'        """{about}"""',
        ]

    def _parameters(
        self, query: Sequence[Mapping[str, Any]], fields: Mapping[str, tuple[Any, bool]], without: set[str]
    ) -> Iterator[str]:
        all_of = {one["name"]: (one["schema"], one.get("required", False)) for one in query} | dict(fields)
        for name, (schema, is_required) in all_of.items():
            if keyword.iskeyword(name):
                raise ValueError(f"{name} is a word of Python")
            default = "" if is_required else " = True" if name == "dry_run" else " = NOT_GIVEN"
            if name not in without:
                yield f"{name}: {self._type(schema)}{default}"

    def _fields(self, sent: Mapping[str, Any]) -> Mapping[str, tuple[Any, bool]]:
        if not sent:
            return {}
        form = self._resolved(sent["application/json"]["schema"])
        return {name: (schema, name in form.get("required", ())) for name, schema in form.get("properties", {}).items()}

    def _returned(self, content: Mapping[str, Any]) -> Iterator[str]:
        schema = content.get("application/json", {}).get("schema", {})
        for one in schema.get("anyOf", [schema]):
            if "$ref" in one:
                yield _class(one["$ref"])

    def _item(self, views: Sequence[str]) -> tuple[str, str] | None:
        """Return the one array of a page and the view of its items."""
        page = next(
            one for name, one in self._schemas.items() if _class(name) == views[0] and "next_cursor" in str(one)
        )
        arrays = [(name, one["items"]) for name, one in page["properties"].items() if one.get("type") == "array"]
        if len(arrays) != 1 or "$ref" not in arrays[0][1] or _class(arrays[0][1]["$ref"]) not in self._views:
            return None
        return arrays[0][0], _class(arrays[0][1]["$ref"])

    def _is_once(self, route: str, operation: Mapping[str, Any], headers: set[str]) -> bool:
        return route.startswith("POST") and not ("x-changes-nothing" in operation or "idempotency-key" in headers)

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        (first,) = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"][:1]
        return self._schemas[first["$ref"].split("/")[-1]] if "$ref" in first else first

    def _type(self, schema: Mapping[str, Any]) -> str:
        if "anyOf" in schema:
            kinds = list(dict.fromkeys(self._type(one) for one in schema["anyOf"]))
            return "Any" if "Any" in kinds else " | ".join(sorted(kinds, key=lambda one: one == "None"))
        if "$ref" in schema:
            if _class(schema["$ref"]) == "NewMessage":
                return "Given"
            return self._type(self._resolved(schema))
        if "enum" in schema or "const" in schema:
            return f"Literal[{', '.join(map(json.dumps, schema.get('enum', [schema.get('const')])))}]"
        kind = schema.get("type")
        if kind == "array":
            return f"Sequence[{self._type(schema['items'])}]"
        if kind == "object":
            return "Mapping[str, Any]"
        return _FORMATS.get(schema.get("format", ""), _TYPES.get(str(kind), "Any"))


def _ordered(given: Sequence[str]) -> list[str]:
    """Return parameters with those that must be given first, and the others by name only."""
    needed, others = [one for one in given if " = " not in one], [one for one in given if " = " in one]
    return [*needed, "*", *others] if others else needed


def _class(reference: str) -> str:
    """Return the class that a schema is made of."""
    return reference.split("/")[-1].split("__")[-1].removesuffix("-Input").removesuffix("-Output")


def _class_of(name: str) -> str:
    """Return the name of a group's class."""
    return f"{name.title().replace('_', '')}Calls"
