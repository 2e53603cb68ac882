"""Errors as HTTP responses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from neurigraph_pipelines.faces.api.problems import DEFAULT_RETRY_AFTER_SECONDS, LOST_OBJECT, problem_of
from neurigraph_pipelines.model.errors import LostObjectError, NeurigraphError, RehydratingError, TransientError
from tests.conftest import ROOT
from tests.support.openapi import document


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (TransientError("x", retry_after=30), 30),
        (TransientError("x", retry_after=0.2), 1),
        (TransientError("x", retry_after=0), 0),
        (TransientError("x"), DEFAULT_RETRY_AFTER_SECONDS),
        (RehydratingError("x", retry_after_seconds=77.5), 78),
    ],
)
def test_retry_after_is_that_of_the_error(error: TransientError | RehydratingError, seconds: int) -> None:
    assert problem_of(error).headers["retry-after"] == str(seconds)


def kinds_below(kind: type[NeurigraphError]) -> Iterator[type[NeurigraphError]]:
    for one in kind.__subclasses__():
        yield one
        yield from kinds_below(one)


def test_the_page_has_every_status_and_type() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition("## Errors")[2].partition("## Limits")[0]
    listed = {status for row in re.findall(r"^\| ([\d; ]+) \|", page, re.MULTILINE) for status in row.split("; ")}
    operations = [one for methods in document()["paths"].values() for one in methods.values()]
    documented = {status for one in operations for status in one["responses"] if status >= "400"}
    assert documented <= listed <= documented | {"405", "431", "500"}, "these need no operation"
    assert f"`{LOST_OBJECT}`" in page
    for kind in kinds_below(NeurigraphError):
        error = kind("x", retry_after_seconds=1.0) if issubclass(kind, RehydratingError) else kind("x")
        told = json.loads(bytes(problem_of(error).body))
        assert str(told["status"]) in listed, kind
        assert told["type"] == (LOST_OBJECT if issubclass(kind, LostObjectError) else "about:blank")
