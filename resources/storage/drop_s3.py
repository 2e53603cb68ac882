"""A prefix of a bucket as a drop place, on Amazon S3 or a compatible server."""

from __future__ import annotations

from collections.abc import Iterator

from neurigraph_pipelines.model import DroppedFile
from neurigraph_pipelines.model.errors import StorageError
from resources.storage.s3_bucket import S3Bucket


class DropS3:
    """A ``DropPlace`` below ``s3://bucket/prefix``; an object is complete as soon as it is listed.

    Args:
        owner: User and source that all objects belong to, whose names then begin with that of the source.
    """

    def __init__(self, bucket: S3Bucket, owner: tuple[str, str] | None = None) -> None:
        self._bucket = bucket
        self._owner = owner

    def files(self) -> Iterator[DroppedFile]:
        """Yield the objects below the prefix of each user.

        Raises:
            TransientError: The server cannot be reached, or is busy.
            StorageError: The server refuses the request.
        """
        for found in self._bucket.objects(self._bucket.prefix):
            key = found["Key"].removeprefix(self._bucket.prefix)
            user, _, name = key.partition("/")
            if self._owner is not None and key:
                user, name = self._owner[0], f"{self._owner[1]}/{key}"
            if user and name and not name.endswith("/"):
                yield DroppedFile(user, name, found["ETag"].strip('"'), found["LastModified"])

    def read(self, file: DroppedFile) -> Iterator[bytes]:
        """Stream an object, in the version that was listed.

        Raises:
            TransientError: The server cannot be reached, or is busy.
            StorageError: The object is missing or was replaced, or the server refuses the request.
        """
        key = file.name.partition("/")[2] if self._owner else f"{file.user_slug}/{file.name}"
        version, chunks = self._bucket.stream(f"{self._bucket.prefix}{key}")
        if version.strip('"') != file.version:
            raise StorageError(
                f"{file.name} of {file.user_slug} in {self._bucket} was replaced: the new version follows."
            )
        return chunks
