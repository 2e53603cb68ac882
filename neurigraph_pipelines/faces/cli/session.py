"""Opens the installation for a command, and resolves the users, nodes, records, files and times in its arguments."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.access.authentication import require_remembered
from neurigraph_pipelines.access.short_ids import id_of, may_begin
from neurigraph_pipelines.database.paging import MAX_PAGE
from neurigraph_pipelines.exchange.organizations.callers import claims_called
from neurigraph_pipelines.faces.cli.about_user import ABOUT, note_user
from neurigraph_pipelines.graph.navigation import shell
from neurigraph_pipelines.graph.node_lists import node_called
from neurigraph_pipelines.graph.provisioning import list_users
from neurigraph_pipelines.lifecycle.transitions import locate
from neurigraph_pipelines.model import Claims, ReceivedThrough
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.runtime.stack.home_lock import running_stack
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.wiring.databases import made_ready, settings_of
from neurigraph_pipelines.wiring.installation import Installation

USERS_NAMED = 5
"""Most users that an error names."""


def usual_user() -> str:
    """Return the user that `neurigraph use` chose, or the only user there is.

    Raises:
        InvalidInputError: No user was chosen, and there is none or more than one.
    """
    chosen = usual_user_file(settings_of(None).home)
    if chosen.exists():
        return chosen.read_text(encoding="utf-8").strip()
    with opened() as installation:
        slugs = [user.slug for user in list_users(installation.database)]
    if len(slugs) == 1:
        return slugs[0]
    none = "there is no user yet: `neurigraph user add NAME` makes one"
    known = f"users: {', '.join(slugs[:USERS_NAMED])}" if slugs else none
    raise InvalidInputError(f"whose memory? Give --user NAME, or `neurigraph use NAME` once ({known})")


def usual_user_file(home: Path) -> Path:
    """Return the file with the name of the user that commands are about without ``--user``."""
    return home.expanduser() / "user"


def option(description: str, *names: str, **more: Any) -> Any:
    """Return an option that may be left out."""
    return typer.Option(*names, help=description, show_default=False, **more)


def positional(description: str, metavar: str | None = None) -> Any:
    """Return an argument."""
    return typer.Argument(metavar=metavar, help=description, show_default=False)


UserSlug = Annotated[
    str,
    typer.Option(
        "--user",
        "-u",
        default_factory=usual_user,
        help="Slug of the user, or MEMBER@ORGANIZATION. Default: that of `neurigraph use`, or the only user.",
        show_default=False,
        callback=note_user,
    ),
]
"""The option of commands about one user."""

AnyUserSlug = Annotated[
    str | None,
    typer.Option("--user", "-u", help="Slug of the user. Default: all users.", show_default=False, callback=note_user),
]
"""The option of commands about one user or all."""

Limit = Annotated[int, typer.Option(min=1, max=MAX_PAGE, help="Maximum number of items.")]
"""The size of a page of a list."""

Cursor = Annotated[
    str | None, typer.Option(help="`next_cursor` of the page before, with the same filters.", show_default=False)
]
"""Where a list goes on."""

DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the changes, and make none.")]

"""The option of commands that can preview their effect."""


@contextmanager
def installed(home: Path | None = None) -> Iterator[Installation]:
    """Open the installation that the settings describe, without migrating or checking it.

    Args:
        home: Another home folder, whose file of settings then counts.
    """
    with Installation(settings_of(home)) as installation:
        yield installation


@contextmanager
def opened(home: Path | None = None) -> Iterator[Installation]:
    """Open the installation for use: migrate an embedded database, and check that an external one is migrated.

    A command about one user gets the installation in whose database the user lives.

    Args:
        home: Another home folder; that installation is opened then, and the user of the command does not count.

    Raises:
        ConfigurationError: The settings are wrong, or the schema is missing or of another version.
    """
    with installed(home) as installation:
        if installation.settings.database.url is None and not (installation.home / "postgres").exists():
            print("Making the database, once. This takes a few seconds.", file=sys.stderr, flush=True)
        made_ready(installation)
        user = ABOUT.get() if home is None else None
        yield installation if user is None else installation.databases.of_user(argument(user).partition("@")[0])


def next_step() -> str:
    """Return the name of the process that stores new sources: the stack that runs on the home folder, or a command."""
    running = running_stack(settings_of(None).home.expanduser().absolute())
    return "Next: neurigraph ingest" if running is None else "It is stored by `neurigraph up`, which runs."


def claims_of(
    installation: Installation, name: str, spaces: list[str] | None = None, *, whole_graph: bool = False
) -> Claims:
    """Return the claims of a user, or of the member of an organization, given as ``MEMBER@ORGANIZATION``.

    Args:
        spaces: Container tags to limit the caller to, if there are any.
        whole_graph: Accept an organization, for the operator's work on all of its graph.

    Raises:
        NotFoundError: There is no such user.
        ForgettingError: The user is being forgotten, and the command is not for the whole graph.
        InvalidInputError: The name is an organization's, or a container tag is not well-formed.
    """
    caller = claims_called(installation.database, argument(name), ReceivedThrough.CLI, whole_graph=whole_graph)
    if not whole_graph:
        require_remembered(installation.database, caller.user_id)
    return caller.within(checked_tags(spaces or ()))


def user_id_of(installation: Installation, name: str | None) -> UUID | None:
    """Return the id of a user or an organization for the operator's work; None for all of them.

    Raises:
        NotFoundError: There is no such user.
    """
    return claims_of(installation, name, whole_graph=True).user_id if name is not None else None


def file_id_of(installation: Installation, claims: Claims, identifier: str) -> UUID:
    """Return the id of a file, given its id or that of its record, or the beginning of one.

    Raises:
        InvalidInputError: The text is not an id.
        NotFoundError: There is no such file or record, or the caller may not see it.
    """
    from neurigraph_pipelines.retrieval.open import file_of_record

    database, text = installation.database, argument(identifier)
    try:
        with suppress(NotFoundError):
            return file_of_record(database, claims, id_of(database, claims, "record", text))
        with suppress(NotFoundError):
            wanted = id_of(database, claims, "file", text)
            with database.agent(claims) as tx:
                return locate(tx, wanted).file_id
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}, as search shows it") from None
    raise NotFoundError(f"there is no file or record {identifier}")


def node_id_of(installation: Installation, claims: Claims, place: str) -> UUID:
    """Return the id of a node, given its path, its name if no other node has it, its id, or the beginning of that.

    Raises:
        NotFoundError: There is no such node, or the caller may not see it.
        InvalidInputError: Several nodes have the name, or such an id.
    """
    try:
        wanted = UUID(place)
    except ValueError:
        name = argument(place)
        try:
            return node_called(installation.listing(claims), name)
        except NotFoundError:
            if may_begin(name):
                return id_of(installation.database, claims, "node", name)
            raise
    with installation.database.agent(claims) as tx:
        try:
            shell(tx, wanted)
        except NotFoundError:
            raise NotFoundError(f"there is no node {place}") from None
        return wanted


def moment(option: str, text: str | None) -> datetime | None:
    """Parse a time in ISO 8601; without a zone it is in this machine's time zone.

    Raises:
        InvalidInputError: The text is not a time.
    """
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"{option} is {text!r}: give a time such as 2023-05-08 or 2023-05-08T18:30+02:00"
        ) from None


def argument(text: str) -> str:
    """Return an argument as valid text: bytes that are not UTF-8 arrive as lone surrogates, which are replaced."""
    return clean_text(text, "repair")[0]
