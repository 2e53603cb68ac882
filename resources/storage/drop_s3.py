"""A prefix of a bucket as a drop place, on Amazon S3 or a compatible server."""

from __future__ import annotations

from collections.abc import Iterator

from neurigraph_pipelines.model import DroppedFile
from neurigraph_pipelines.model.errors import StorageError
from resources.storage.s3_bucket import S3Bucket


class DropS3:
    """A ``DropPlace`` below ``s3://bucket/prefix``; an object is complete as soon as it is listed."""

    def __init__(self, bucket: S3Bucket) -> None:
        self._bucket = bucket

    def files(self) -> Iterator[DroppedFile]:
        """Yield the objects below the prefix of each user.

        Raises:
            TransientError: The server cannot be reached, or is busy.
            StorageError: The server refuses the request.
        """
        for found in self._bucket.objects(self._bucket.prefix):
            user, _, name = found["Key"].removeprefix(self._bucket.prefix).partition("/")
            if user and name and not name.endswith("/"):
                yield DroppedFile(user, name, found["ETag"].strip('"'), found["LastModified"])

    def read(self, file: DroppedFile) -> Iterator[bytes]:
        """Stream an object, in the version that was listed.

        Raises:
            TransientError: The server cannot be reached, or is busy.
            StorageError: The object is missing or was replaced, or the server refuses the request.
        """
        version, chunks = self._bucket.stream(f"{self._bucket.prefix}{file.user_slug}/{file.name}")
        if version.strip('"') != file.version:
            raise StorageError(
                f"{file.name} of {file.user_slug} in {self._bucket} was replaced: the new version follows."
            )
        return chunks
