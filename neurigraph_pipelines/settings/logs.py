"""The form of log lines: text for people, or JSON for machines.

A line names an event with ids and counts. The JSON form also leaves out the messages of exceptions, which may quote
what somebody wrote; their classes and the places in the code stay.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from types import TracebackType

from neurigraph_pipelines.views.scalars import WireObject

REQUEST_FIELDS = ("method", "route", "status", "milliseconds")
"""Attributes that the log of requests gives a record."""

_NO_REQUEST = "-"


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = getattr(record, "request_id", _NO_REQUEST)
        if request_id != _NO_REQUEST:
            line["request_id"] = request_id
        line |= {name: vars(record)[name] for name in REQUEST_FIELDS if name in vars(record)}
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            line["error"] = {"type": kind.__name__, "stack": _places(trace)}
        return json.dumps(line)


def _places(trace: TracebackType | None) -> list[str]:
    """Return file, line and function of each frame, without the code."""
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]


def as_json(config: WireObject) -> WireObject:
    """Return a ``logging.config`` dictionary whose handlers write JSON, with a line for each request.

    uvicorn's own access log, which shows the addresses of requests and of callers, is silent.
    """
    formatters = {name: {"()": JsonFormatter} for name in config["formatters"]}
    silent: dict[str, object] = {"handlers": [], "propagate": False}
    requests = {"handlers": ["default"], "level": "INFO", "propagate": False}
    loggers = {**config["loggers"], "uvicorn.access": silent, "neurigraph.requests": requests}
    root = {"handlers": ["default"], "level": "WARNING"}
    return {**config, "formatters": formatters, "loggers": loggers, "root": root}
