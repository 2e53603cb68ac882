"""Files that let the operating system keep ``neurigraph up`` running: a systemd unit and a launchd agent.

Settings do not belong in these files, which every account may read: they are in ``settings.env`` of the home folder.
"""

from __future__ import annotations

import plistlib
import sys
from collections.abc import Mapping
from pathlib import Path

from neurigraph_pipelines.model.errors import ConfigurationError

LABEL = "neurigraph.up"
STOP_SECONDS = 120
"""For runs that end and a server that writes what it holds; then the operating system kills what is left."""

RETRY_SECONDS = 30

NO_RETRY = (2, 4, 7)
"""Exit codes after which another start changes nothing: wrong arguments, wrong settings, a stack that runs already."""

TERMINATED = 143
"""The exit code after SIGTERM, by which services are stopped."""


def installed_program(name: str) -> Path:
    """Return the path of a program that was installed with Neurigraph.

    Raises:
        ConfigurationError: It is missing.
    """
    program = Path(sys.executable).parent / name
    if not program.is_file():
        raise ConfigurationError(f"{program} is missing: install the project with its dependencies")
    return program


def systemd_unit(program: Path, home: Path, variables: Mapping[str, str]) -> str:
    """Return a unit of a user's systemd.

    Args:
        program: The installed ``neurigraph``.
        home: The home folder.
        variables: Environment of the service.

    Raises:
        ConfigurationError: A path has a quotation mark, a backslash or a line break.
    """
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in variables.items())
    return f"""\
[Unit]
Description=Neurigraph, a long-term memory for AI assistants
StartLimitIntervalSec=600
StartLimitBurst=10

[Service]
Type=exec
ExecStart={_quoted(str(program))} up
WorkingDirectory={_escaped(str(home))}
{environment}UMask=0077
Restart=on-failure
RestartSec={RETRY_SECONDS}
# Wrong settings, and a stack that runs already: another start changes nothing.
RestartPreventExitStatus={" ".join(map(str, NO_RETRY))}
SuccessExitStatus={TERMINATED}
# `up` stops its parts in order; whatever is left is killed.
KillMode=mixed
TimeoutStopSec={STOP_SECONDS}
# A part that the kernel ends for its memory is started again by `up`.
OOMPolicy=continue
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def launchd_agent(program: Path, home: Path, variables: Mapping[str, str]) -> str:
    """Return the property list of a user's launchd agent; arguments as those of ``systemd_unit``."""
    log = str(home / "logs" / "service.log")  # rotated like every log of the folder
    agent = {
        "Label": LABEL,
        "ProgramArguments": [str(program), "up"],
        "WorkingDirectory": str(home),
        "EnvironmentVariables": dict(variables),
        "Umask": 0o077,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RETRY_SECONDS,
        "ExitTimeOut": STOP_SECONDS,
        "ProcessType": "Background",
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    return plistlib.dumps(agent, sort_keys=False).decode()


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    if any(character in text for character in "\"'\\\r\n"):  # systemd refuses programs with quotation marks
        raise ConfigurationError(
            f"a unit cannot name {text!r}: choose a path without quotation marks, backslashes and line breaks"
        )
    return text.replace("%", "%%")
