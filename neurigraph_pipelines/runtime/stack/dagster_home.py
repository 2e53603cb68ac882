"""Dagster's folder in the home and the environment of its processes, which run configuration that users choose.

Such a configuration may quote any environment variable (``{"env": NAME}``), and Dagster passes its own settings on in
command lines. So neither holds a secret: settings, the password of the database and the UI's token are handed over in
files of mode 0600.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import yaml
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.runtime.stack.services import installed_program
from neurigraph_pipelines.settings import given_settings
from neurigraph_pipelines.settings.operation import RunSettings
from neurigraph_pipelines.settings.shipped import shipped
from neurigraph_pipelines.settings.sources import ENV_FILE
from neurigraph_pipelines.settings.storage import SIMPLE_CHECKSUMS, S3Settings
from neurigraph_pipelines.views.scalars import WireObject
from neurigraph_pipelines.wiring.installation import Installation
from resources.files import write_whole
from resources.postgres.addresses import as_sqlalchemy_url

WORKSPACE = shipped("workspace.yaml")
INSTANCE = shipped("dagster_home/dagster.yaml")

_PASSED_ON = re.compile(
    "|".join(
        (
            r"PATH|HOME|USER|LOGNAME|SHELL|PWD|LANG|LANGUAGE|LC_\w+|TZ|TZDIR|TMPDIR|TMP|TEMP|XDG_\w+_HOME",
            r"PYTHON\w+|VIRTUAL_ENV|LD_LIBRARY_PATH|DYLD_\w+|MALLOC_\w+|OMP_\w+|OPENBLAS_\w+|COVERAGE_\w+",
            r"SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?:HTTPS?|ALL|NO)_PROXY",
            r"AWS_(?:DEFAULT_)?REGION|AWS_PROFILE|AWS_CONFIG_FILE|AWS_SHARED_CREDENTIALS_FILE|AWS_CA_BUNDLE",
            r"AWS_ROLE_ARN|AWS_ROLE_SESSION_NAME|AWS_WEB_IDENTITY_TOKEN_FILE|AWS_EC2_METADATA_\w+",
            r"AWS_CONTAINER_CREDENTIALS_(?:FULL|RELATIVE)_URI|AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        )
    ),
    re.IGNORECASE,
)
"""Variables that hold no secret and that programs and libraries need; a proxy's may hold a password and then stays."""

_SECRET_FILES = ("pgpass", "settings.json", "aws_credentials")
_CELERY = {
    "module": "dagster_celery.launcher",
    "class": "CeleryRunLauncher",
    # While Redis is away, the run that is first in the queue waits for two minutes before it fails.
    "config": {"config_source": {"task_publish_retry_policy": {"max_retries": 24, "interval_start": 5}}},
}
_AWS_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@dataclass(frozen=True, slots=True)
class DagsterHome:
    """Dagster's folder, ready for its processes.

    Attributes:
        folder: ``DAGSTER_HOME``.
        environment: The whole environment of Dagster's processes.
        token_file: The file with the UI's token.
        allowed_hosts: Names under which browsers may reach the UI, besides those of this machine.
        workspace: The file that says where the definitions are loaded.
    """

    folder: Path
    environment: dict[str, str]
    token_file: Path
    allowed_hosts: tuple[str, ...]
    workspace: Path = WORKSPACE

    @property
    def token(self) -> str:
        """The token of the UI."""
        return self.token_file.read_text(encoding="utf-8").strip()

    def clear(self) -> None:
        """Remove the files with secrets that may have come from the environment."""
        for name in _SECRET_FILES:
            (self.folder / name).unlink(missing_ok=True)

    def ui_url(self, address: str, path: str = "/") -> str:
        """Return the link that opens a page of the UI, which runs at an address such as ``http://localhost:3000``."""
        return f"{address}{path}?token={self.token}"

    def ui_command(self, host: str, port: int, workspace: Path | None = None) -> list[str]:
        """Return the command of the UI's process."""
        hosts = [f"--allow-host={name}" for name in (*self.allowed_hosts, host) if name not in ("0.0.0.0", "::")]  # noqa: S104
        files = [f"--workspace={workspace or self.workspace}", f"--token-file={self.token_file}"]
        return [
            sys.executable,
            "-m",
            "neurigraph_pipelines.runtime.ui",
            f"--host={host}",
            f"--port={port}",
            *files,
            *hosts,
        ]

    def daemon_command(self, workspace: Path | None = None) -> list[str]:
        """Return the command of the daemon's process."""
        return [str(installed_program("dagster-daemon")), "run", f"--workspace={workspace or self.workspace}"]

    def code_server_command(self, *place: str) -> list[str]:
        """Return the command of the code server's process; ``place`` are the options that say where it listens."""
        options = ["-m", "neurigraph_pipelines.definitions", "--location-name", "neurigraph", *place]
        return [str(installed_program("dagster")), "api", "grpc", *options]

    def worker_command(self, runs: int) -> list[str]:
        """Return the command of a worker's process, which executes so many runs at once, each in a fork of its own."""
        name = f"--hostname=dagster-{os.getpid()}@%h"  # this process becomes the worker
        own = [name, "--disable-prefetch", f"--concurrency={runs}", "--max-tasks-per-child=1"]
        app = ["--app=dagster_celery.app", "worker", "--include=neurigraph_pipelines.definitions", "--loglevel=WARNING"]
        return [str(installed_program("celery")), *app, *own]

    def become(self, command: Sequence[str]) -> None:
        """Replace this process by one of Dagster's; does not return."""
        sys.stdout.flush()
        os.execve(command[0], list(command), self.environment)  # noqa: S606 - our own programs, by their full path


def dagster_home(installation: Installation, *, has_tables: bool = False) -> DagsterHome:
    """Make Dagster's database, and write its settings and values that its processes may not have in their environment.

    Call it again when the address of the embedded server has changed.

    Args:
        installation: An open installation.
        has_tables: Whether Dagster's tables are there. Dagster then looks for them no more, which each tick would do.

    Raises:
        ConfigurationError: The project is not installed completely, or the database cannot be made.
    """
    if not WORKSPACE.is_file():
        raise ConfigurationError(f"{WORKSPACE} is missing: install the project completely")
    installation.ensure_dagster_database()
    folder = installation.home / "dagster"
    folder.mkdir(exist_ok=True, mode=0o700)
    settings = installation.settings
    runs, s3 = settings.runs, settings.s3
    storage = {"postgres_url": storage_url(installation, folder / "pgpass"), "should_autocreate_tables": not has_tables}
    instance = _instance(runs, {"postgres": storage})
    if runs.logs_url is not None:
        instance["compute_logs"] = _logs_in_s3(runs.logs_url, s3, folder / "storage")
    write_whole(folder / "dagster.yaml", yaml.safe_dump(instance, sort_keys=False).encode())
    write_whole(folder / "settings.json", json.dumps(given_settings()).encode())
    environment = {name: value for name, value in os.environ.items() if _may_pass(name, value)}
    if credentials := _aws_credentials(s3 if runs.logs_url is not None else None):
        write_whole(folder / "aws_credentials", credentials.encode())
        environment["AWS_SHARED_CREDENTIALS_FILE"] = str(folder / "aws_credentials")
        environment.pop("AWS_PROFILE", None)
    environment |= {
        "DAGSTER_HOME": str(folder),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        # Starting a run waits for its process. It is given up, and the run returns to its queue, before run monitoring
        # would call the run failed. Dagster gives up after 60 seconds, which was too early on a busy machine.
        "DAGSTER_GRPC_TIMEOUT_SECONDS": "240",
        "NEURIGRAPH_HOME": str(installation.home),
        ENV_FILE: str(folder / "settings.json"),
        **SIMPLE_CHECKSUMS,
    }
    environment.setdefault("MALLOC_ARENA_MAX", "2")  # else glibc keeps a heap for nearly each thread
    if s3.region is not None:
        environment.setdefault("AWS_DEFAULT_REGION", s3.region)
    if runs.broker_url is not None:
        # Celery's own variables, before any setting: the address stands neither in a file nor in a command line.
        broker = runs.broker_url.get_secret_value()
        environment |= {"CELERY_BROKER_URL": broker, "CELERY_RESULT_BACKEND": broker}
    token, hosts = installation.secrets.ui_token_file(), settings.ui.allowed_hosts
    return DagsterHome(folder, environment, token, hosts, _workspace(folder, runs))


def storage_url(installation: Installation, passwords: Path) -> str:
    """Return the address of Dagster's storage, whose password Postgres' own library reads from a file."""
    parts = conninfo_to_dict(installation.dagster_address)
    password = str(parts.pop("password")).replace("\\", "\\\\").replace(":", "\\:")
    write_whole(passwords, f"*:*:*:{parts['user']}:{password}\n".encode())
    address = as_sqlalchemy_url(make_conninfo("", **{**parts, "passfile": str(passwords)}))
    return f"{address}&plugin=neurigraph"  # kept_connections.py


def _instance(runs: RunSettings, storage: dict[str, object]) -> WireObject:
    """Return Dagster's settings: those of the project, with its storage, the number of runs and their launcher."""
    instance: WireObject = yaml.safe_load(INSTANCE.read_bytes())
    instance["storage"] = storage
    if runs.broker_url is not None:
        if find_spec("dagster_celery") is None:
            raise ConfigurationError("NEURIGRAPH_BROKER_URL needs Celery: pip install 'neurigraph[workers]'")
        instance["run_launcher"] = _CELERY
    concurrency = instance["concurrency"]
    concurrency["runs"]["max_concurrent_runs"] = concurrency["pools"]["default_limit"] = runs.at_once
    backfills = max(1, runs.at_once // 4)
    upkeep = {"key": "neurigraph/yields", "limit": runs.at_once - 1 - backfills}
    limits = concurrency["runs"]["tag_concurrency_limits"]
    limits[:2] = [upkeep, {"key": "dagster/backfill", "limit": backfills}]
    return instance


def _logs_in_s3(url: str, s3: S3Settings, local: Path) -> dict[str, object]:
    """Return Dagster's setting that the output of runs goes to S3, half a minute later at most."""
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    config: dict[str, object] = {"bucket": bucket, "prefix": prefix, "local_dir": str(local)}
    if s3.endpoint_url is not None:
        config["endpoint_url"] = s3.endpoint_url
    if s3.region is not None:
        config["region"] = s3.region
    config |= {"skip_empty_files": True, "upload_interval": 30}
    return {"module": "dagster_aws.s3.compute_log_manager", "class": "S3ComputeLogManager", "config": config}


def _workspace(folder: Path, runs: RunSettings) -> Path:
    """Return the file that says where the definitions are: in a code server elsewhere, or in a module."""
    if runs.code_server is None:
        return WORKSPACE
    host, _, port = runs.code_server.rpartition(":")
    server = {"host": host, "port": int(port), "location_name": "neurigraph"}
    file = folder / "code_server.yaml"
    write_whole(file, yaml.safe_dump({"load_from": [{"grpc_server": server}]}).encode())
    return file


def _may_pass(name: str, value: str) -> bool:
    is_proxy_with_password = name.upper().endswith("_PROXY") and "@" in value
    return _PASSED_ON.fullmatch(name) is not None and not is_proxy_with_password


def _aws_credentials(s3: S3Settings | None) -> str:
    """Return the credentials of S3's settings, else of the environment, as a file that boto3 reads; empty for none."""
    given = {name: os.environ[name] for name in _AWS_CREDENTIALS if name in os.environ}
    if s3 is not None and s3.access_key_id is not None and s3.secret_access_key is not None:
        given = dict(zip(_AWS_CREDENTIALS, (s3.access_key_id, s3.secret_access_key.get_secret_value()), strict=False))
    if _AWS_CREDENTIALS[1] not in given:
        return ""
    return "[default]\n" + "".join(f"{name.lower()} = {value}\n" for name, value in given.items())
