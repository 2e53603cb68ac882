"""The places where an installation keeps objects: the adapters that the settings choose, and their master key.

A part of ``wiring``, the only place that imports ``resources``.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.ports import DropPlace, ObjectStore
from neurigraph_pipelines.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from neurigraph_pipelines.settings.storage import S3Settings
    from resources.storage.encrypted import EncryptedObjectStore
    from resources.storage.graph_keys import GraphKeys
    from resources.storage.s3_bucket import S3Bucket


class WiredStorage:
    """The object store, the data keys and the drop place of one installation, each made on first use."""

    settings: Settings
    _open: ExitStack
    _s3_client: Callable[[S3Settings], Any] | None

    @property
    @abstractmethod
    def home(self) -> Path:
        """The home folder."""

    @cached_property
    def objects(self) -> ObjectStore:
        """The object store, which encrypts if the settings say so, and decrypts encrypted objects."""
        return self.encrypted_objects or self._plain_objects

    @cached_property
    def encrypted_objects(self) -> EncryptedObjectStore | None:
        """The object store, if its objects are or may be encrypted."""
        if not (self.settings.objects.encryption or self.master_key_file.exists() or self._master_key_command):
            return None
        from resources.storage.encrypted import EncryptedObjectStore

        return EncryptedObjectStore(self._plain_objects, self.graph_keys, writes=self.settings.objects.encryption)

    @cached_property
    def graph_keys(self) -> GraphKeys:
        """The data keys of graphs, wrapped by the master key."""
        from resources.master_keys import MasterKeyCommand, MasterKeyFile
        from resources.storage.graph_keys import GraphKeys

        command = self._master_key_command
        masters = MasterKeyCommand(command) if command else MasterKeyFile(self.master_key_file)
        return GraphKeys(self._plain_objects, masters)

    def rotate_master_key(self) -> int:
        """Wrap all data keys by a new master key, and return the number of those that were wrapped again."""
        from resources.master_keys import MasterKeyFile

        file = None if self._master_key_command else MasterKeyFile(self.master_key_file)
        if file is not None:
            file.read(may_make=next(self.graph_keys.wrapped_by(), None) is None)
            file.add()
        done = self.graph_keys.wrap_again()
        if file is not None:
            file.drop_old()
        return done

    @property
    def master_key_file(self) -> Path:
        """The file of the master key, unless a command prints it."""
        return self.home / "master_key"

    @property
    def _master_key_command(self) -> str | None:
        command = self.settings.objects.master_key_command
        return command.get_secret_value() if command is not None else None

    @cached_property
    def _plain_objects(self) -> ObjectStore:
        location, s3 = self.settings.objects.url, self.settings.s3
        if location is not None and location.startswith("s3://"):
            from resources.storage.s3 import S3ObjectStore

            return S3ObjectStore(
                self._bucket(location),
                part_bytes=s3.part_bytes,
                encryption=s3.encryption,
                kms_key_id=s3.kms_key_id,
                cold_storage_class=s3.cold_storage_class,
            )
        if location is not None and "://" in location and not location.startswith("file://"):
            raise ConfigurationError("NEURIGRAPH_OBJECTS_URL names neither a folder nor s3://bucket/prefix")
        from resources.storage.local import LocalObjectStore

        return LocalObjectStore(Path(location.removeprefix("file://")) if location else self.home / "objects")

    def _bucket(self, url: str) -> S3Bucket:
        from resources.storage.s3_bucket import S3Access, S3Bucket

        s3 = self.settings.s3
        secret = s3.secret_access_key
        bucket = S3Bucket(
            url,
            S3Access(
                s3.endpoint_url,
                s3.region,
                s3.access_key_id,
                secret.get_secret_value() if secret is not None else None,
                s3.max_attempts,
                s3.connect_timeout_seconds,
                s3.read_timeout_seconds,
            ),
            partial(self._s3_client, s3) if self._s3_client is not None else None,
        )
        self._open.callback(bucket.close)
        return bucket

    @cached_property
    def drop_place(self) -> DropPlace | None:
        """The place where users drop files; None if the settings name none."""
        url = self.settings.uploads.drop_url
        return None if url is None else self.place_of(url, "NEURIGRAPH_DROP_URL")

    def place_of(self, url: str, variable: str, owner: tuple[str, str] | None = None) -> DropPlace:
        """Return the place of files that an address names.

        Args:
            variable: What names the address, for an error.
            owner: User and source of all files; by default the first folders are named after users.

        Raises:
            ConfigurationError: It names no place.
        """
        if url.startswith("s3://"):
            from resources.storage.drop_s3 import DropS3

            return DropS3(self._bucket(url), owner)
        if "://" in url and not url.startswith("file://"):
            raise ConfigurationError(f"{variable} names neither a folder nor s3://bucket/prefix")
        from resources.storage.drop_folder import DropFolder

        folder = Path(url.removeprefix("file://")).expanduser()
        return DropFolder(folder, self.settings.uploads.drop_settle_seconds, owner)
