"""The restore of a backup: objects first, then the databases under other names, which are exchanged at the end.

Until that exchange the installation is what it was, and whatever kills a restore, the next one starts over. Objects
that are there already are kept if they have the right content.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from neurigraph_pipelines.database.migrations import migrate
from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.exchange.portability.stream import Hashed
from neurigraph_pipelines.exchange.portability.tables import named_objects, needs_working_copy
from neurigraph_pipelines.lifecycle.object_keys import DURABLE, STAGING
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest, make_working_copy
from neurigraph_pipelines.model.errors import ConflictError, DamagedObjectError, InvalidInputError, LostObjectError
from neurigraph_pipelines.model.ports import ObjectStore, Transaction
from neurigraph_pipelines.runtime.stack.backup.create import BackupListener
from neurigraph_pipelines.runtime.stack.backup.folder import DUMPS, OBJECT_LIST, BackupFolder, StoredContent
from neurigraph_pipelines.runtime.stack.backup.snapshot import QUERIES
from neurigraph_pipelines.views.scalars import WireObject
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.dagster_database import ROLE, dagster_database, ensure_dagster_database, found_database
from resources.postgres.dump import load

_NEW, _OLD = "_being_restored", "_before_restore"
_ROLE_PREFIX = "neurigraph_"
_WRITERS = 8  # threads; they wait for a disk or a network
_Dumps = Mapping[str, Callable[[], Iterator[bytes]]]

CLOSING_SECONDS = 3.0
"""How long the server's side of a closed connection may take to end."""


@dataclass(frozen=True, slots=True)
class RestoredBackup:
    """The result of a restore.

    Attributes:
        new_objects: Number of objects that were written; the others were there already.
        lost: Keys of objects that were missing or damaged when the backup was made.
    """

    backup_id: str
    objects: int
    new_objects: int
    lost: tuple[str, ...]


def restore(
    installation: Installation, folder: BackupFolder, backup_id: str | None, replace: bool, listener: BackupListener
) -> RestoredBackup:
    """Bring the installation back to its state when a backup was made.

    Args:
        backup_id: None for the newest backup.
        replace: Replace the content of the installation.

    Raises:
        ConflictError: The installation holds memories, or programs use it. Nothing changed.
        ConfigurationError: The database with the name of Dagster's is of somebody else. Nothing changed.
        InvalidInputError: There is no such backup, or a newer version made it. Nothing changed.
        DamagedObjectError: The backup is damaged. The database is unchanged.
        StorageError: A disk, the object store or the database failed. The database is unchanged.
    """
    folder.open()
    chosen = folder.find(backup_id)
    manifest = folder.manifest(chosen)
    if manifest["shared_ddl"] > SHIPPED.newest:
        raise InvalidInputError(
            f"backup {chosen} was made by Neurigraph {manifest['neurigraph']}: restore it with that"
        )
    wanted = dict(listed_objects(folder, chosen, manifest))
    absent = [key for key, content in wanted.items() if not folder.has(content.sha256)]
    if absent:
        raise DamagedObjectError(f"{len(absent)} objects of backup {chosen} are missing in the folder: restore another")
    target = _Target(installation)
    target.require_idle()
    if not replace:
        target.require_empty(wanted)
    parts = [part for part in DUMPS if part in manifest]
    dumps = {part: partial(_dump, folder, chosen, DUMPS[part], manifest[part]["sha256"], listener) for part in parts}
    listener.on_stage("checking the database")
    for dump in dumps.values():  # pg_restore must not see a damaged one: it may crash
        for _ in dump():
            pass
    listener.on_stage("objects")
    with ThreadPoolExecutor(_WRITERS) as pool:
        puts = [pool.submit(_put, installation.objects, folder, *item, replace, listener) for item in wanted.items()]
        try:
            written = sum(put.result() for put in puts)
        finally:
            pool.shutdown(cancel_futures=True)
    target.restore_databases(dumps, manifest["roles"], listener)
    return RestoredBackup(chosen, len(wanted), written, tuple(manifest["lost_objects"]))


def listed_objects(folder: BackupFolder, backup_id: str, manifest: WireObject) -> Iterator[tuple[str, StoredContent]]:
    """Yield the objects of a backup by key.

    Raises:
        DamagedObjectError: The list is damaged.
    """
    text = b"".join(folder.read(backup_id, OBJECT_LIST))
    if hashlib.sha256(text).hexdigest() != manifest["object_list"]["sha256"]:
        raise DamagedObjectError(f"the list of objects of backup {backup_id} is damaged: restore another backup")
    for line in text.splitlines():
        key, sha256, size = json.loads(line)
        if not key.startswith((DURABLE, STAGING)):
            raise InvalidInputError(f"backup {backup_id} names an object {key[:80]!r}, which is not a valid key")
        yield key, StoredContent(sha256, size)


def _put(
    objects: ObjectStore,
    folder: BackupFolder,
    key: str,
    content: StoredContent,
    replace: bool,
    listener: BackupListener,
) -> bool:
    """Write an object unless it exists, and return whether it was written."""
    try:
        if Hashed(objects.get(key)).read() == content.sha256:
            listener.on_bytes(content.size_bytes)
            return False
        if not replace:
            raise ConflictError(
                f"the object store has another object {key[:80]!r}: use --replace, or an empty object store"
            )
    except LostObjectError:
        pass
    objects.put(key, _counted(folder.read_object(content.sha256), listener))
    return True


def _counted(chunks: Iterator[bytes], listener: BackupListener) -> Iterator[bytes]:
    for chunk in chunks:
        listener.on_bytes(len(chunk))
        yield chunk


def _dump(folder: BackupFolder, backup_id: str, file: str, sha256: str, listener: BackupListener) -> Iterator[bytes]:
    dump = Hashed(_counted(folder.read(backup_id, file), listener))
    yield from dump
    if dump.sha256 != sha256:
        raise DamagedObjectError(f"{file} of the backup is damaged: restore another backup")


class _Target:
    """The database server and object store of the installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._url = installation.administrator_url
        self._server_url = make_conninfo(self._url, dbname="postgres")
        self._name, self._dagster = str(conninfo_to_dict(self._url)["dbname"]), dagster_database(self._url)

    def require_idle(self) -> None:
        """Raise ConflictError if programs are connected to a database, or ConfigurationError if one is not ours."""
        until = time.monotonic() + CLOSING_SECONDS
        with self._maintenance() as server:
            found_database(server, self._dagster)  # or the exchange would drop one of somebody else
            while others := self._count_others(server):
                if time.monotonic() > until:
                    raise ConflictError(
                        f"the database is in use by {others} connections: stop `neurigraph up`, `serve` and other "
                        "programs first"
                    )
                time.sleep(0.05)

    def _count_others(self, server: Transaction) -> int:
        found = server.execute(QUERIES["connections"], {"names": [self._name, self._dagster]}).fetchone()
        return int(found["others"]) if found is not None else 0

    def require_empty(self, wanted: Mapping[str, StoredContent]) -> None:
        """Raise ConflictError if the installation has content that is not in the backup."""
        if self._count_users():
            raise ConflictError(
                "this installation holds memories: restore into a new home (NEURIGRAPH_HOME), or use --replace, which "
                "deletes what is here"
            )
        for prefix in (DURABLE, STAGING):
            for key in self._installation.objects.keys(prefix):
                if key not in wanted:
                    raise ConflictError(
                        f"the object store holds {key[:80]!r}, which is not in the backup: use an empty object store, "
                        "or --replace"
                    )

    def restore_databases(self, dumps: _Dumps, roles: list[WireObject], listener: BackupListener) -> None:
        """Restore the dumps into new databases, upgrade ours, and exchange them for the old ones."""
        new_name = self._name + _NEW
        url = make_conninfo(self._url, dbname=new_name)
        with self._maintenance() as server:
            self._drop(server, _NEW, _OLD)
            _make_roles(server, roles)
            if "dagster" in dumps:
                listener.on_stage("dagster")
                ensure_dagster_database(self._server_url, self._dagster + _NEW)
                load(make_conninfo(self._url, dbname=self._dagster + _NEW), dumps["dagster"](), ROLE)
            server.execute(QUERIES["create_database"].format(database=sql.Identifier(new_name)))
            server.execute(QUERIES["grant_create"].format(database=sql.Identifier(new_name)))
            listener.on_stage("database")
            load(url, dumps["database"]())
            listener.on_stage("upgrade")
            migrate(url, self._installation.secret, replace_claims_key=True)
            listener.on_stage("working copies")
            self._make_working_copies(url)
            listener.on_stage("exchange")
            try:
                self._exchange(server, has_dagster="dagster" in dumps)
            except psycopg.errors.ObjectInUse as error:
                raise ConflictError(
                    "a program connected to the database meanwhile: stop it, and restore again"
                ) from error
            self._drop(server, _OLD)

    def _drop(self, server: Transaction, *suffixes: str) -> None:
        for suffix in suffixes:
            for name in (self._name, self._dagster):
                server.execute(QUERIES["drop_database"].format(database=sql.Identifier(name + suffix)))

    def _exchange(self, server: Transaction, *, has_dagster: bool) -> None:
        """Exchange both databases in one transaction: Dagster knows the runs of these memories, or of none."""

        def rename(name: str, new_name: str) -> None:
            names = {"database": sql.Identifier(name), "new_name": sql.Identifier(new_name)}
            server.execute(QUERIES["rename_database"].format(**names))

        with server.transaction():
            for name, is_new in ((self._dagster, has_dagster), (self._name, True)):
                if _exists(server, name):
                    rename(name, name + _OLD)
                if is_new:
                    rename(name + _NEW, name)

    def _make_working_copies(self, url: str) -> None:
        """Write the working copies of active files, which a backup leaves out."""
        objects = self._installation.objects

        def make(file: Manifest) -> None:
            with suppress(LostObjectError):  # it was lost before the backup
                make_working_copy(objects, file, lambda: None)

        with psycopg.connect(url, row_factory=dict_row) as tx, ThreadPoolExecutor(_WRITERS) as pool:
            tx.execute(QUERIES["become_owner"])
            for _ in pool.map(make, filter(needs_working_copy, named_objects(tx))):
                pass

    def _count_users(self) -> int:
        with self._maintenance() as server:
            if not _exists(server, self._name):
                return 0
        with psycopg.connect(self._url, row_factory=dict_row) as tx:
            found = tx.execute(QUERIES["has_users"]).fetchone()
            if found is None or not found["present"]:
                return 0
            counted = tx.execute(QUERIES["count_users"]).fetchone()
            return int(counted["users"]) if counted is not None else 0

    def _maintenance(self) -> Transaction:
        return psycopg.connect(self._server_url, autocommit=True, row_factory=dict_row)


def _exists(server: Transaction, name: str) -> bool:
    found = server.execute(QUERIES["database_exists"], {"name": name}).fetchone()
    return found is not None and bool(found["present"])


def _make_roles(server: Transaction, roles: list[WireObject]) -> None:
    """Make the roles that the dump names. They have no login until the migration gives them one.

    Raises:
        InvalidInputError: The backup names roles of others.
    """
    for name in {name for role in roles for name in (role["name"], *role["member_of"])}:
        if not name.startswith(_ROLE_PREFIX):
            raise InvalidInputError(f"the backup names a role {name[:80]!r}, which is not Neurigraph's")
    for role in roles:
        found = server.execute(QUERIES["role_exists"], {"name": role["name"]}).fetchone()
        if found is None or not found["present"]:
            query = QUERIES["create_inheriting_role"] if role["inherits"] else QUERIES["create_role"]
            server.execute(query.format(role=sql.Identifier(role["name"])))
    for role in roles:
        for group in role["member_of"]:
            statement = QUERIES["grant_role"].format(role=sql.Identifier(group), member=sql.Identifier(role["name"]))
            server.execute(statement)
    user = server.info.user
    for role in roles:
        if role["name"] != user:
            statement = QUERIES["grant_role"].format(role=sql.Identifier(role["name"]), member=sql.Identifier(user))
            server.execute(statement)
