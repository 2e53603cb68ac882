"""Real servers that speak S3, on loopback.

moto knows storage classes, encryption and versions, and takes any secret; rclone keeps real files and refuses wrong
signatures.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from boto3.session import Session
from moto.server import ThreadedMotoServer

from resources.storage.s3_bucket import S3Access, S3Bucket
from tests.support.waiting import wait_for_process

ACCESS_KEY_ID, SECRET_ACCESS_KEY = "tests", "the secret of the tests"  # the same for every server
_RCLONE = str(Path(sys.executable).parent / "rclone")
_PATIENCE_SECONDS = 30


@contextmanager
def moto_server() -> Iterator[str]:
    """Run moto in this process; yield its address."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@contextmanager
def rclone_server(folder: Path) -> Iterator[str]:
    """Run rclone in its own process, with the folders of ``folder`` as buckets; yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    keys = f"--auth-key={ACCESS_KEY_ID},{SECRET_ACCESS_KEY}"
    command = [_RCLONE, "serve", "s3", "--config", "", "--addr", address, keys, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_process(lambda: _answers(address), process, _PATIENCE_SECONDS)
            yield f"http://{address}"
        finally:
            process.terminate()


def new_bucket(address: str) -> str:
    """Create an empty bucket; return its name."""
    name = f"test-{uuid4().hex}"
    with s3_client(address) as client:
        client.create_bucket(Bucket=name)
    return name


@contextmanager
def s3_client(address: str) -> Iterator[Any]:
    """boto3's own client, to look at what a server holds."""
    client = Session().client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=SECRET_ACCESS_KEY,
    )
    try:
        yield client
    finally:
        client.close()


@contextmanager
def opened_bucket(address: str, url: str, **access: Any) -> Iterator[S3Bucket]:
    """Open a bucket as the stores do; ``access`` overrides the working settings."""
    bucket = S3Bucket(url, S3Access(address, "us-east-1", **{**_KEYS, **access}))
    try:
        yield bucket
    finally:
        bucket.close()


_KEYS = {"access_key_id": ACCESS_KEY_ID, "secret_access_key": SECRET_ACCESS_KEY}


def _answers(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True
