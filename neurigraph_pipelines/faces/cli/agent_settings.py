"""Settings files of coding agents: our entries are added beside the others, and taken out again.

All new contents are made before a file is written. What a file held is kept in the home folder until our entries are
taken out; a file that nobody changed since is then the same bytes again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from difflib import unified_diff
from pathlib import Path

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.scalars import ValuesByName, WireObject

NAME = "neurigraph"
HOOK = "agents hook"
"""Words of the command by which our hooks are known."""

SECONDS = 60
"""Most seconds that an agent waits for a hook."""

_BEGIN, _END = "# neurigraph: begin", "# neurigraph: end"
_BLOCK = re.compile(rf"\n*^{_BEGIN}$.*?^{_END}$\n?", re.MULTILINE | re.DOTALL)
_SWITCH = "codex_hooks = true  # neurigraph"
_FEATURES = re.compile(r"^\[features\][^\n]*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """How an agent starts us.

    Attributes:
        words: The program, and the arguments that name the user.
        environment: Variables that it needs, by name.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str]

    def hook(self, agent: str, user: str | None) -> str:
        """Return the command line of a hook."""
        names = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        of_user = ["--user", user] if user else []
        return " ".join([*names, shlex.join([*self.words, *HOOK.split(), agent, *of_user])])

    def server(self, user: str | None) -> WireObject:
        """Return the entry of the server."""
        arguments = [*self.words[1:], "mcp", *(["--user", user] if user else [])]
        environment = {"env": dict(self.environment)} if self.environment else {}
        return {"command": self.words[0], "args": arguments, **environment}


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after.

    Attributes:
        before: None if there is no file.
        after: None if there is none afterwards.
    """

    path: Path
    before: bytes | None
    after: bytes | None

    def shown(self) -> str:
        """Return the change as lines that go and come."""
        old, new = ((text or b"").decode().splitlines() for text in (self.before, self.after))
        return "\n".join(unified_diff(old, new, str(self.path), str(self.path), lineterm=""))


_Edit = Callable[[str, "Command | None", str, str | None], str]
"""Returns a file's text with our entries for an agent and a user; without them if the command is None."""


def files_of(agent: str, folder: Path, *, is_project: bool) -> list[tuple[Path, _Edit]]:
    """Return the settings files of an agent below a home or project folder, each with its editor."""
    if agent == "claude-code":
        server = folder / (".mcp.json" if is_project else ".claude.json")
        return [(server, _with_server), (folder / ".claude" / "settings.json", _with_hooks)]
    if agent == "codex":
        stated = os.environ.get("CODEX_HOME")
        own = Path(stated) if stated and not is_project else folder / ".codex"
        return [(own / "config.toml", _with_table), (own / "hooks.json", _with_hooks)]
    return [(folder / ".cursor" / "mcp.json", _with_server), (folder / ".cursor" / "hooks.json", _with_hooks)]


def changes(agent: str, folder: Path, command: Command | None, user: str | None, *, is_project: bool) -> list[Change]:
    """Return the changes of an agent's files that add our entries, or take them out without a command.

    Raises:
        InvalidInputError: A file cannot be read, is not of its form, or may not be written.
    """
    found = []
    for place, edit in files_of(agent, folder, is_project=is_project):
        path = place.resolve()
        before = _read(path)
        try:
            after: str | None = edit((before or b"").decode(), command, agent, user)
        except (ValueError, RecursionError, InvalidInputError) as error:
            raise InvalidInputError(f"{path} cannot be read ({error}): mend it first; nothing was written") from None
        if command is None and before is not None and not (after or "").strip("{} \n"):
            after = None  # nothing but our entries was in it
        one = Change(path, before, after.encode() if after is not None and (after or before) else None)
        if one.before != one.after:
            _require_writable(path)
            found.append(one)
    return found


class Kept:
    """The earlier contents of agents' files, in a folder of the home.

    Args:
        home: The home folder of the installation.
        agent: Name of the agent.
        folder: The folder whose settings are changed.
    """

    def __init__(self, home: Path, agent: str, folder: Path) -> None:
        digest = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
        self._path = home / "agents" / f"{agent}-{digest}.json"

    @property
    def is_there(self) -> bool:
        """Whether our entries were added."""
        return self._path.exists()

    def read(self) -> dict[str, dict[str, str | None]]:
        """Return by path the earlier content of a file, in Base64, and the digest of the written one."""
        try:
            found: dict[str, dict[str, str | None]] = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found

    def add(self, made: Sequence[Change]) -> None:
        """Keep the contents of files, unless earlier ones are kept, and write the new contents; all or none."""
        kept = self.read()
        for one in made:
            before = None if one.before is None else base64.b64encode(one.before).decode()
            held = kept.get(str(one.path), {"before": before, "written": _digest(one.before)})
            is_ours = held["written"] == _digest(one.before)  # else somebody changed it: only our entries go then
            kept[str(one.path)] = {**held, "written": _digest(one.after) if is_ours else None}
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write(Change(self._path, None, json.dumps(kept, indent=1).encode()))
        write_all(made)

    def restored(self, made: Sequence[Change]) -> Iterator[Change]:
        """Yield the changes that bring back the earlier contents of files.

        Args:
            made: Those that take our entries out, which a file that changed since needs.
        """
        kept = self.read()
        taken_out = {str(one.path): one for one in made}
        for name, held in kept.items():
            path = Path(name)
            now, before = _read(path), held["before"]
            if now is not None and _digest(now) == held["written"]:
                yield Change(path, now, None if before is None else base64.b64decode(before))
            elif name in taken_out:
                yield taken_out[name]

    def drop(self) -> None:
        """Forget the earlier contents of files."""
        self._path.unlink(missing_ok=True)


def write_all(made: Sequence[Change]) -> None:
    """Write files; if one cannot be written, the files before it get their contents back.

    Raises:
        InvalidInputError: One cannot be written.
    """
    done: list[Change] = []
    for one in made:
        try:
            write(one)
        except OSError as error:
            for other in reversed(done):
                write(Change(other.path, other.after, other.before))
            raise InvalidInputError(f"{one.path} cannot be written ({error.strerror}); nothing is changed") from None
        done.append(one)


def write(one: Change) -> None:
    """Write a file in one step, or remove it."""
    if one.after is None:
        one.path.unlink(missing_ok=True)
        with suppress(OSError):
            one.path.parent.rmdir()  # only if nothing else is in it
        return
    one.path.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(one.path.stat().st_mode) if one.path.exists() else 0o600
    beside = one.path.with_name(f".{one.path.name}.{os.getpid()}")
    beside.write_bytes(one.after)
    beside.chmod(mode)
    beside.replace(one.path)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); nothing was written") from None


def _require_writable(path: Path) -> None:
    is_kept = path.exists() and not path.stat().st_mode & stat.S_IWUSR
    nearest = next(one for one in (path, *path.parents) if one.exists())
    if is_kept or not os.access(nearest, os.W_OK):
        raise InvalidInputError(f"{path} may not be written: allow it first; nothing was written")


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _object(text: str) -> WireObject:
    found = json.loads(text) if text.strip() else {}
    if not isinstance(found, dict):
        raise InvalidInputError("it is no JSON object")
    return found


def _part(settings: WireObject, name: str) -> WireObject:
    part = settings.setdefault(name, {})
    if not isinstance(part, dict):
        raise InvalidInputError(f"its {name} are no JSON object")
    return part


def _as_text(settings: WireObject) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _with_server(text: str, command: Command | None, _: str, user: str | None) -> str:
    settings = _object(text)
    servers = _part(settings, "mcpServers")
    servers.pop(NAME, None)
    if command is not None:
        servers[NAME] = command.server(user)
    return _as_text({name: value for name, value in settings.items() if name != "mcpServers" or value})


def _with_hooks(text: str, command: Command | None, agent: str, user: str | None) -> str:
    settings = _object(text)
    hooks = _part(settings, "hooks")
    for event, listed in list(hooks.items()):
        if not isinstance(listed, list):
            raise InvalidInputError(f"its hooks of {event} are no list")
        hooks[event] = [one for one in listed if HOOK not in json.dumps(one)]
        if not hooks[event]:
            del hooks[event]
    if command is not None:
        line = {"command": command.hook(agent, user)}
        for event in EVENTS[agent]:
            entry = {"hooks": [{"type": "command", **line, "timeout": SECONDS}]}
            hooks.setdefault(event, []).append(line if agent == "cursor" else entry)
        settings = {"version": 1, **settings} if agent == "cursor" else settings
    elif agent == "cursor" and not hooks and settings.keys() <= {"version", "hooks"}:
        return ""
    return _as_text({name: value for name, value in settings.items() if name != "hooks" or value})


EVENTS = {
    "claude-code": ("SessionStart", "PreCompact", "SessionEnd"),
    "codex": ("SessionStart", "PreCompact", "Stop"),
    "cursor": ("sessionStart", "preCompact", "sessionEnd"),
}
"""When an agent starts our hook: at the beginning of a session, before it is shortened, and at its end. Codex tells of
the end of a turn alone."""


def _with_table(text: str, command: Command | None, _: str, user: str | None) -> str:
    """Return Codex' settings with a table for the server, and its hooks switched on."""
    bare = _BLOCK.sub("\n", text).replace(f"{_SWITCH}\n", "")
    bare = "" if not bare.strip() else bare
    before = tomllib.loads(bare)
    if command is None:
        return bare
    if NAME in before.get("mcp_servers", {}):
        raise InvalidInputError(f"it has a server {NAME} that was not added by this command: remove it")
    server = command.server(user)
    lines = [
        f"[mcp_servers.{NAME}]",
        f"command = {json.dumps(server['command'])}",
        f"args = {json.dumps(server['args'])}",
    ]
    if "env" in server:
        lines += [f"[mcp_servers.{NAME}.env]", *(f"{k} = {json.dumps(v)}" for k, v in server["env"].items())]
    if "codex_hooks" not in before.get("features", {}):
        if _FEATURES.search(bare):
            bare = _FEATURES.sub(lambda found: f"{found[0]}{_SWITCH}\n", bare, count=1)
        elif "features" not in before:
            lines += ["[features]", "codex_hooks = true"]
    made = "\n".join([*([bare.rstrip("\n"), ""] if bare else []), _BEGIN, *lines, _END, ""])
    after = tomllib.loads(made)
    after["mcp_servers"].pop(NAME)
    if "codex_hooks" not in before.get("features", {}):
        after.get("features", {}).pop("codex_hooks", None)
    if {name: value for name, value in after.items() if value or name in before} != before:
        raise InvalidInputError("its form is unusual: add the server by hand, as `neurigraph mcp install` says")
    return made


def as_data(made: Sequence[Change]) -> list[ValuesByName]:
    """Return changes for programs."""
    return [{**asdict(one), "before": None, "after": None, "path": str(one.path), "diff": one.shown()} for one in made]
