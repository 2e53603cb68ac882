"""The databases over which users are spread, each with the installation of its home folder, opened on first use.

``directory`` holds who lives where. Here are the acts that need more than one database: placing, finding and moving
users.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg import OperationalError
from pydantic import ValidationError
from pydantic_settings import SettingsError

from neurigraph_pipelines.database.migrations import require_current, require_secret
from neurigraph_pipelines.graph.naming import is_slug, require_slug
from neurigraph_pipelines.graph.provisioning import User, create_user_within, find_user, list_users
from neurigraph_pipelines.model.errors import (
    ConfigurationError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    TransientError,
)
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.directory import (
    MAIN,
    Directory,
    Place,
    hint_of,
    lives_in,
    move_has_begun,
    people_of,
    person_of,
)

if TYPE_CHECKING:
    from neurigraph_pipelines.exchange.portability.move_user import Moved
    from neurigraph_pipelines.wiring.installation import Installation

CACHE_SECONDS = 1.0
"""How long a program may rely on its copy of the directory; a move waits for as long before it begins."""

_UNREACHABLE = (OperationalError, TransientError, ConfigurationError)


class Databases:
    """The databases of a directory, and the installations that they belong to.

    Args:
        front: The installation whose database has the directory. It closes this object.
    """

    def __init__(self, front: Installation) -> None:
        self._front = front
        self._others: dict[str, Installation] = {}
        self._opening: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self.directory = Directory(front.database)

    def close(self) -> None:
        """Close the installations that were opened here."""
        while self._others:
            self._others.popitem()[1].close()

    def open(self, name: str) -> Installation:
        """Return the installation of a database, ready for use.

        Raises:
            NotFoundError: There is no such database.
            ConfigurationError: It cannot be used.
        """
        if name == MAIN:
            return self._front
        with self._opening[name]:
            if name not in self._others:
                home = self.directory.home_of(name)
                assert home is not None
                self._others[name] = self._opened(home)
            return self._others[name]

    def _opened(self, home: Path) -> Installation:
        from neurigraph_pipelines.wiring.installation import Installation

        other = Installation(settings_of(home))
        other.databases = self
        try:
            made_ready(other)
        except BaseException:
            other.close()
            raise
        return other

    def add(self, name: str, home: Path, *, dry_run: bool = False) -> int:
        """Add the database of a home folder, which is made if it does not exist, and return how many users it has.

        Raises:
            InvalidInputError: The name is not well-formed.
            ConflictError: The name, the home folder or the name of a user is taken, or it has a directory of its own.
            ConfigurationError: It is the same database or object store as another one, or cannot be used.
        """
        from neurigraph_pipelines.exchange.portability.move_user import require_two

        place = home.expanduser().absolute()
        if dry_run and not place.exists():
            return 0
        other = self._opened(place)
        try:
            for known in self.directory.databases():
                require_two(self.open(known.name).context, other.context)
            if len(Directory(other.database).databases()) > 1:
                raise ConflictError(f"{place} has a directory of its own: remove its databases first")
            people = people_of(other.database)
            if not dry_run:
                self.directory.add(name, place, people)
        finally:
            other.close()
        return len(people)

    def remove(self, name: str) -> None:
        """Remove a database in which nobody lives. Its installation stays as it is.

        Raises:
            NotFoundError: There is no such database.
            ConflictError: Users live there or move there.
        """
        self.directory.remove(name)
        with self._opening[name]:
            other = self._others.pop(name, None)
        if other is not None:
            other.close()

    def of_user(self, slug: str) -> Installation:
        """Return the installation in whose database a user lives; the first if there is no such user.

        A name whose user was forgotten, or was never created, is removed from the directory.

        Raises:
            TransientError: The user is between two databases right now.
        """
        place = self.directory.by_slug(slug)
        if place is None:
            return self._front
        name = self.database_of(place)
        if name is None and place.moving_to is not None:
            raise TransientError(
                f"{slug} is moving to {place.moving_to}: try again in a moment. If no move is running, run "
                f"`neurigraph user move {slug} {place.moving_to}`",
                retry_after=1.0,
            )
        if name is None and self.directory.forget_unmade(place, lambda: self.database_of(place) is not None):
            return self._front
        return self.open(name or place.database)

    def of_credential(self, credential: str) -> Installation:
        """Return the installation that a key or token leads to; it decides whether that is valid."""
        place = self.directory.by_hint(hint_of(credential))
        return self._front if place is None else self.open(self.database_of(place) or place.database)

    def folders(self) -> list[Path]:
        """Return the home folders of all databases, the first one first."""
        others = (one.home for one in self.directory.databases() if one.home is not None)
        return [self._front.home, *map(Path, others)]

    def of_sign_in(self, name: str) -> Installation:
        """Return the installation in which somebody with a password signs in; unknown names take the same statement."""
        place = self.directory.by_slug(name) if is_slug(name) else None
        if place is None:
            return self._front
        return self.open(place.database) if place.moving_to is None else self.of_user(name)

    def database_of(self, place: Place) -> str | None:
        """Return the database that has a user now; None if the user is between two, or gone."""
        for name in (place.database, place.moving_to):
            if name is not None and lives_in(self.open(name).database, place.resident_id):
                return name
        return None

    def users(self) -> list[tuple[str, User]]:
        """Return all users by slug, each with the name of the database that has them."""
        names = [one.name for one in self.directory.databases()]
        found = [(name, user) for name in names for user in list_users(self.open(name).database)]
        return sorted(found, key=lambda one: one[1].slug)

    def create_user(self, slug: str, database: str | None = None) -> tuple[str, User, str]:
        """Create a user in a database, or in the one with the fewest users that answers.

        Returns:
            The name of the database, the user, and a key, which cannot be shown again.

        Raises:
            InvalidInputError: The slug is not well-formed, or there is no such database.
            ConflictError: The slug is taken, in whichever database.
        """
        require_slug(slug)
        known = {one.name: one.users for one in self.directory.databases()}
        if database is not None and database not in known:
            raise InvalidInputError(f"there is no database {database!r}: `neurigraph admin database list` shows them")
        self.of_user(slug)  # removes the name if it has no user
        names = [database] if database is not None else sorted(known, key=lambda name: known[name])
        for name in names:
            try:
                return self._created(slug, name)
            except _UNREACHABLE:
                if name == names[-1]:
                    raise
        raise AssertionError("there is always a first database")

    def _created(self, slug: str, name: str) -> tuple[str, User, str]:
        opaque = self.open(name).settings.opaque_schema_names
        if name == MAIN:
            return name, *self.directory.create_here(slug, opaque_schema_names=opaque)
        with self.open(name).database.owner():
            pass  # it answers
        with self.directory.reserved(slug, name) as place, self.open(place.database).database.owner() as tx:
            made = create_user_within(tx, slug, opaque_schema_names=opaque, user_id=place.resident_id)
        return place.database, *made

    def ensure_user(self, slug: str) -> tuple[Installation, User, bool]:
        """Find a user, or create one: the installation, the user, and whether it was created."""
        here = self.of_user(slug)
        try:
            return here, find_user(here.database, slug), False
        except NotFoundError:
            pass
        try:
            name, user, _ = self.create_user(slug)
        except ConflictError:  # created concurrently
            here = self.of_user(slug)
            return here, find_user(here.database, slug), False
        return self.open(name), user, True

    def move(self, slug: str, target: str, *, dry_run: bool = False, on_bytes: Callable[[int], None]) -> Moved:
        """Move a user to another database of the directory, or complete the move of an earlier run.

        The directory names both databases before the move and one after it. Between, callers look in both.

        Raises:
            NotFoundError: There is no such user or database.
            ConflictError: A move to another database has begun, or the user cannot be moved.
        """
        from neurigraph_pipelines.exchange.portability.move_user import Moved, move_user

        place = self.directory.by_slug(slug)
        source = place.database if place is not None else MAIN
        there = self.open(target)
        if source == target and (place is None or place.moving_to is None):
            return Moved(find_user(there.database, slug).user_id, slug, healed=True)
        if place is not None and place.moving_to not in (None, target):
            raise move_has_begun(slug, place.moving_to)
        here = self.open(source)
        if place is None or place.moving_to is None:
            person = person_of(here.database, find_user(here.database, slug).user_id, slug)
            move_user(here.context, there.context, slug, dry_run=True, on_bytes=on_bytes)
            if dry_run:
                return Moved(person.user_id, slug)
            self.directory.begin_move(person, source, target)
            time.sleep(CACHE_SECONDS)
        moved = move_user(here.context, there.context, slug, dry_run=dry_run, on_bytes=on_bytes)
        if not dry_run:
            self.directory.settle_move(moved.user_id, target)
        return moved


def made_ready(installation: Installation) -> None:
    """Migrate an embedded database, and check that an external one is migrated.

    Raises:
        ConfigurationError: The schema is missing or of another version.
    """
    if installation.settings.database.url is None:
        installation.migrate()
    else:
        require_current(installation.database)
        require_secret(installation.database, installation.secret)


def settings_of(home: Path | None, **given: Any) -> Settings:
    """Return the settings, of another home folder if one is given.

    Args:
        given: Values in place of settings, by the names that ``Settings`` takes.

    Raises:
        ConfigurationError: They are wrong, or cannot be read.
    """
    try:
        return Settings(**given) if home is None else Settings(home=home, **given)
    except ValidationError as error:
        # Fields are known by their variables; a condition between several of them names them in its message.
        wrong = "; ".join(
            f"{next(filter(str.isupper, map(str, found['loc'])), 'settings')}: {found['msg']}"
            for found in error.errors()
        )
        raise ConfigurationError(f"the settings are not valid: {wrong} (see docs/settings.md)") from error
    except (SettingsError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the settings cannot be read: {error} (see docs/settings.md)") from error
