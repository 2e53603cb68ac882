"""The command line in processes that need no second to import it: forks of one that has imported everything.

``warm_program()`` is a program in the place of ``neurigraph``: it hands its arguments, environment, folder and standard
streams to the fork and ends as the fork does. Tests whose subject is the process itself start the real program.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT

PROGRAM = Path(sys.executable).parent / "neurigraph"

_CALLER = """#!{python} -IS
import _socket, os, signal, sys
server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
variables = [name + b"=" + value for name, value in os.environb.items()]
data = b"\\0".join([os.getcwdb(), b"%d" % len(arguments), *arguments, *variables])
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
server.sendmsg([len(data).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
while data:
    data = data[server.send(data):]
answer = server.recv(2)
code = int.from_bytes(answer, "big", signed=True) if answer else 1
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@functools.cache
def warm_program() -> Path:
    """Return the program; its server runs until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="neurigraph-warm-"))
    address = folder / "socket"
    caller = folder / "neurigraph"
    caller.write_text(_CALLER.format(python=sys.executable, address=str(address)), encoding="utf-8")
    caller.chmod(0o700)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.warm_cli_server", str(address), str(PROGRAM)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(_stop, server, folder)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return caller


def _stop(server: subprocess.Popen[bytes], folder: Path) -> None:
    server.communicate()
    shutil.rmtree(folder)
