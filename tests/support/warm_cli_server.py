"""The process behind ``tests.support.warm_cli``: each command is a fork of it, with everything imported.

It ends when its standard input closes, which the kernel does at the end of the tests.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import sys
import tempfile
import time
from io import TextIOWrapper
from typing import Literal, TextIO

_MODULES = (
    "neurigraph_pipelines.faces.cli.entry",
    "neurigraph_pipelines.faces.cli.layouts",
    "neurigraph_pipelines.graph.changes",
    "neurigraph_pipelines.ingestion.batch",
    "neurigraph_pipelines.inbox.importing",
    "neurigraph_pipelines.database.migrations",
    "neurigraph_pipelines.retrieval.ask",
    "neurigraph_pipelines.wiring.installation",
    "resources.minilm.embedder",
    "resources.offline.language_model",
    "resources.postgres.database",
    "resources.storage.local",
)
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_")
"""Beginnings of the variables that an interpreter reads when it starts."""


def serve(address: str, program: str) -> None:
    """Fork for every connection. Returns in a fork only, which is then the process of a command."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("ready", flush=True)
    while True:
        readable, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in readable:
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _start(connection, program)
            return
        connection.close()


def _start(connection: socket.socket, program: str) -> None:
    """Fork the command, which returns, and report its end, which does not."""
    head, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
    length, data = int.from_bytes(head, "big"), b""
    while len(data) < length:
        data += connection.recv(length - len(data))
    waking, woken = socket.socketpair()
    woken.setblocking(False)
    signal.set_wakeup_fd(woken.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    command = os.fork()
    if command == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for other in (connection, waking, woken):
            other.close()
        _become(descriptors, data.split(b"\0"), program)
        return
    for descriptor in descriptors:
        os.close(descriptor)
    if connection in select.select([connection, waking], [], [])[0]:  # the caller has ended
        os.kill(command, signal.SIGKILL)
    _, status = os.waitpid(command, 0)
    connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(2, "big", signed=True))
    os._exit(0)


def _become(descriptors: list[int], request: list[bytes], program: str) -> None:
    """Take on the folder, environment, arguments and standard streams of the caller."""
    folder, count, *rest = request
    arguments, environment = rest[: int(count)], dict(line.split(b"=", 1) for line in rest[int(count) :])
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    needs_a_start = _at_start(environment) != _at_start(dict(os.environb)) or any(map(os.isatty, range(3)))
    if needs_a_start:
        os.execve(program, [os.fsencode(program), *arguments], environment)
    sys.stdin, sys.stdout, sys.stderr = _opened(sys.stdin, "r"), _opened(sys.stdout, "w"), _opened(sys.stderr, "w")
    sys.stderr.reconfigure(line_buffering=True)
    os.environb.clear()
    os.environb.update(environment)
    time.tzset()
    tempfile.tempdir = None
    sys.argv = [program, *map(os.fsdecode, arguments)]


def _opened(stream: TextIO, mode: Literal["r", "w"]) -> TextIOWrapper:
    """Return a standard stream for what its descriptor is now, which may be seekable or not."""
    return TextIOWrapper(
        open(stream.fileno(), f"{mode}b", closefd=False),
        encoding=stream.encoding,
        errors=stream.errors,
    )


def _at_start(environment: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return {
        name: value for name, value in environment.items() if name.startswith(tuple(map(str.encode, _READ_AT_START)))
    }


if __name__ == "__main__":
    for module in _MODULES:
        importlib.import_module(module)
    gc.freeze()
    serve(*sys.argv[1:])
    from neurigraph_pipelines.faces.cli import main

    main()
