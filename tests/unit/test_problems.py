"""Errors as HTTP responses."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.faces.api.problems import DEFAULT_RETRY_AFTER_SECONDS, problem_of
from neurigraph_pipelines.model.errors import RehydratingError, TransientError


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
