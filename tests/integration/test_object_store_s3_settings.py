"""Settings of an S3 store: storage class, encryption, and values that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.storage.s3 import S3ObjectStore
from resources.storage.s3_bucket import S3Access, S3Bucket
from tests.support.s3_servers import moto_server, new_bucket, opened_bucket, s3_client

PART = 5 << 20


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with moto_server() as address:
        yield address


@pytest.fixture
def bucket(moto: str) -> Iterator[S3Bucket]:
    with opened_bucket(moto, f"s3://{new_bucket(moto)}/p") as opened:
        yield opened


def test_cold_storage_keeps_content(bucket: S3Bucket, moto: str) -> None:
    encrypted = S3ObjectStore(bucket, encryption="aws:kms", kms_key_id="key-of-tests")
    for key, size in (("large", 131_072), ("small", 131_071)):
        encrypted.put(key, [bytes(size)])
    unset = S3ObjectStore(bucket)
    cold = S3ObjectStore(bucket, cold_storage_class="GLACIER_IR")
    with s3_client(moto) as client:
        client.put_object(Bucket=bucket.name, Key="p/noted", Body=bytes(200_000), Metadata={"by": "hand"})
        unset.move_to_cold("large")
        assert "StorageClass" not in client.head_object(Bucket=bucket.name, Key="p/large")
        for key in ("large", "small", "noted"):
            cold.move_to_cold(key)
            cold.move_to_cold(key)
        large, small, noted = (
            client.head_object(Bucket=bucket.name, Key=f"p/{key}") for key in ("large", "small", "noted")
        )
    assert large["StorageClass"] == noted["StorageClass"] == "GLACIER_IR"
    assert "StorageClass" not in small
    assert (large["ServerSideEncryption"], large["SSEKMSKeyId"]) == ("aws:kms", "key-of-tests")
    assert noted["Metadata"] == {"by": "hand"}
    assert b"".join(cold.get("large")) == bytes(131_072)


@pytest.mark.parametrize("size", [10, PART + 1])
def test_encryption_settings(bucket: S3Bucket, moto: str, size: int) -> None:
    S3ObjectStore(bucket, part_bytes=PART, encryption="AES256").put("a", [bytes(size)])
    S3ObjectStore(bucket, part_bytes=PART, encryption="aws:kms", kms_key_id="k").put("b", [bytes(size)])
    with s3_client(moto) as client:
        first, second = (client.head_object(Bucket=bucket.name, Key=f"p/{key}") for key in "ab")
    assert first["ServerSideEncryption"] == "AES256"
    assert (second["ServerSideEncryption"], second["SSEKMSKeyId"]) == ("aws:kms", "k")


def test_folder_markers_are_not_objects(bucket: S3Bucket, moto: str) -> None:
    with s3_client(moto) as client:
        for key in ("p/", "p/folder/", "p/a", "pa", "b"):
            client.put_object(Bucket=bucket.name, Key=key, Body=b"")
    assert list(S3ObjectStore(bucket).keys()) == ["a"]


@pytest.mark.parametrize("url", ["s3://", "s3:///a", "s3://b/../c", "s3://b//c", "s3://b c", "s3://b/\0", "http://b"])
def test_invalid_bucket_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="does not name a bucket"):
        S3Bucket(url, S3Access())


def test_unknown_url_scheme_is_refused(tmp_path: Path) -> None:
    settings = Settings.model_validate({"home": tmp_path, "objects_url": "ftp://host/objects"})
    with Installation(settings) as installation, pytest.raises(ConfigurationError, match="s3://bucket/prefix"):
        assert installation.objects


def test_invalid_endpoint_is_refused() -> None:
    with opened_bucket("not an address", "s3://b") as opened, pytest.raises(ConfigurationError, match="ENDPOINT"):
        S3ObjectStore(opened).exists("a")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"s3_cold_storage_class": "GLACIER"}, "choose GLACIER_IR"),
        ({"s3_cold_storage_class": "DEEP_ARCHIVE"}, "choose GLACIER_IR"),
        ({"s3_access_key_id": "a"}, "set together"),
        ({"s3_secret_access_key": "a"}, "set together"),
        ({"s3_kms_key_id": "a"}, "aws:kms"),
        ({"s3_kms_key_id": "a", "s3_encryption": "AES256"}, "aws:kms"),
        ({"s3_part_bytes": 1_000}, "5242880"),
    ],
)
def test_invalid_settings_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Settings.model_validate(values)
