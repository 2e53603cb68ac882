"""The JSON form of log lines."""

from __future__ import annotations

import json
import logging
import logging.config
from io import StringIO
from typing import Any

import pytest

from neurigraph_pipelines.faces.api.metrics.process import ProcessMeasures
from neurigraph_pipelines.settings.logs import JsonFormatter, as_json


@pytest.fixture
def written() -> StringIO:
    return StringIO()


@pytest.fixture
def log(written: StringIO) -> logging.Logger:
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    made = logging.Logger("neurigraph.test")
    made.addHandler(handler)
    return made


def lines(written: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_line_has_the_known_fields(log: logging.Logger, written: StringIO) -> None:
    log.info("stored %s\nrecords", 3, extra={"route": "/v1/nodes/{node_id}", "status": 200, "milliseconds": 1.5,
                                             "request_id": "r-1", "query": "a secret"})  # fmt: skip
    log.warning("late", extra={"request_id": "-"})
    first, second = lines(written)
    assert first.pop("time").endswith("+00:00")
    assert first == {
        "level": "info", "logger": "neurigraph.test", "message": "stored 3\nrecords", "request_id": "r-1",
        "route": "/v1/nodes/{node_id}", "status": 200, "milliseconds": 1.5,
    }  # fmt: skip
    assert set(second) == {"time", "level", "logger", "message"}


def test_exception_is_not_quoted(log: logging.Logger, written: StringIO) -> None:
    try:
        raise ValueError("Dave owes nine pounds")
    except ValueError:
        log.exception("it failed")
    (line,) = lines(written)
    assert line["error"]["type"] == "ValueError"
    assert "test_exception_is_not_quoted" in line["error"]["stack"][0]
    assert "Dave" not in written.getvalue()


def test_config_silences_the_access_log() -> None:
    config: dict[str, Any] = {
        "version": 1,
        "formatters": {"default": {"format": "%(message)s"}},
        "handlers": {"default": {"class": "logging.StreamHandler", "formatter": "default"}},
        "loggers": {"uvicorn.access": {"handlers": ["default"], "level": "INFO"}},
    }
    changed = as_json(config)
    assert changed["loggers"]["uvicorn.access"] == {"handlers": [], "propagate": False}
    assert config["loggers"]["uvicorn.access"]["handlers"] == ["default"], "the caller's stays as it is"
    logging.config.DictConfigurator(changed)


def test_every_process_metric_says_what_it_is() -> None:
    for family in ProcessMeasures().registry.collect():
        assert family.documentation.endswith((".", ")")) or not family.name.startswith("neurigraph")
