"""The doctor's findings, each made by damage of its kind, and what the status says beside them."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
from pathlib import Path

import dagster as dg
import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.faces.cli.status import last_errors
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.runtime.doctor import machine, memory
from neurigraph_pipelines.runtime.doctor.examination import examine
from neurigraph_pipelines.runtime.doctor.findings import Finding, Level
from neurigraph_pipelines.runtime.stack import services
from neurigraph_pipelines.runtime.stack.dagster_home import dagster_home
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.embedded import ServerLease
from tests.support.cli_runs import ask, run
from tests.support.failed_segments import ERROR, fail
from tests.support.memories import converse, ingest, new_user, plain_context

SUBJECTS = {"packages", "disk", "permissions", "database", "clocks", "keys", "personas", "models", "backlog", "checks"}


@dg.asset
def letters() -> None:
    """An asset with two checks that fail."""


@dg.asset_check(asset=letters)
def letters_are_whole() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.ERROR)


@dg.asset_check(asset=letters)
def letters_are_new() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN)


@dg.op
def write() -> None:
    raise ValueError("the pen is broken")


@dg.job
def writing() -> None:
    write()


def bad(findings: list[Finding], subject: str) -> list[tuple[Level, str, str | None]]:
    """Return what is wrong with a subject."""
    return [(one.level, one.found, one.remedy) for one in findings if one.subject == subject and one.level != Level.OK]


def test_sound_installation_has_no_error(installation: Installation) -> None:
    findings = list(examine(installation))
    assert {one.subject for one in findings} == SUBJECTS
    assert [one for one in findings if one.level is Level.ERROR] == []
    assert all((one.remedy is None) == (one.level is Level.OK) for one in findings)
    (models,) = [one for one in findings if one.subject == "models"]
    counted = f"counted by {installation.tokens.name}" if installation.tokens.exact else "estimated"
    assert f"; tokens are {counted}" in models.found
    ((level, found, remedy),) = bad(findings, "backlog")
    assert level is Level.WARNING  # no stack runs, and nothing waits for it
    assert "no sensor has run" in found
    assert remedy is not None
    assert "neurigraph up" in remedy


def test_secret_that_others_may_read_is_an_error(installation: Installation) -> None:
    home = installation.home
    home.chmod(0o700)
    file = home / "metrics_token"
    file.write_text("a token")
    file.chmod(0o640)
    ((level, found, remedy),) = bad(list(machine.permissions(home)), "permissions")
    assert (level, str(file) in found, str(remedy).startswith(f"chmod 600 {file}")) == (Level.ERROR, True, True)
    file.chmod(0o600)
    assert bad(list(machine.permissions(home)), "permissions") == []
    home.chmod(0o755)
    assert [level for level, _, _ in bad(list(machine.permissions(home)), "permissions")] == [Level.WARNING]


def test_little_room_is_noticed_before_there_is_none(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    levels = [next(machine.disk(tmp_path, least)).level for least in (0, free // 2, free * 2)]
    assert levels == [Level.OK, Level.WARNING, Level.ERROR]


def test_clock_that_was_set_back_is_noticed(installation: Installation) -> None:
    with installation.database.pipeline() as tx:
        tx.execute("INSERT INTO neurigraph.heartbeats (name, beat_at) VALUES ('a sensor', now() + interval '1 hour')")
    ((level, found, _),) = bad(list(examine(installation)), "clocks")
    assert level is Level.WARNING
    assert "in the future: a clock was set back" in found


def test_failed_segment_and_failed_checks_are_named(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, _ = create_user(installation.database, "bob")
    fail(installation, user, "c1")
    home = dagster_home(installation)
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    with dg.DagsterInstance.get() as instance:
        dg.materialize([letters, letters_are_whole, letters_are_new], instance=instance, raise_on_error=False)
        failed = writing.execute_in_process(instance=instance, raise_on_error=False)
    findings = list(examine(installation))
    check, run, warned = sorted(bad(findings, "checks"))
    assert check[:2] == (Level.ERROR, "the check letters_are_whole failed")
    assert warned[:2] == (Level.WARNING, "the check letters_are_new gave a warning")
    assert run[1].startswith("a run of writing failed")
    assert failed.run_id in str(run[2])
    assert "segments and uploads that failed for good: 1" in [found for _, found, _ in bad(findings, "backlog")]
    latest, earlier = last_errors(installation)
    assert (latest.part, latest.id) == ("writing", failed.run_id)
    assert (earlier.part, earlier.error) == ("summarize", ERROR)


def test_unknown_secret_and_model_without_key_are_errors(installation: Installation, settings: Settings) -> None:
    other = settings.model_copy(update={"secret": SecretStr("x" * 40)})
    with Installation(other) as stranger:
        ((level, found, _),) = bad(list(examine(stranger)), "keys")
    assert level is Level.ERROR
    assert "another secret" in found
    models = settings.models.model_copy(update={"language_model": "openai"})
    with Installation(settings.model_copy(update={"models": models})) as keyless:
        ((level, found, _),) = bad(list(examine(keyless)), "models")
    assert level is Level.ERROR
    assert "OPENAI_API_KEY" in found


def test_lost_master_key_is_an_error(installation: Installation) -> None:
    with Installation(installation.settings.changed(encryption=True)) as sealed:
        sealed.embedder = installation.embedder
        user, claims = new_user(sealed)
        converse(sealed, claims, "The spare key hangs in the boathouse.", "Good to know.")
        ingest(plain_context(sealed), user)
        assert bad(list(memory.keys(sealed)), "keys") == []
        file = sealed.master_key_file
        kept = file.read_text()
        file.write_text("x" * len(kept.strip()) + "\n")
        assert [found for _, found, _ in bad(list(memory.keys(sealed)), "keys")] == [
            "keys of graphs that no master key opens: 1; their raw files cannot be read"
        ]
        file.unlink()
        ((level, found, _),) = bad(list(examine(sealed)), "keys")
        assert (level, "is missing" in found) == (Level.ERROR, True)


def test_missing_database_is_the_last_finding(settings: Settings) -> None:
    assert settings.database.url is not None
    address = make_conninfo(settings.database.url.get_secret_value(), dbname="no_such_database")
    database = settings.database.model_copy(update={"url": SecretStr(address)})
    settings.home.mkdir()
    with Installation(settings.model_copy(update={"database": database})) as stranger:
        *_, last = examine(stranger)
    assert (last.subject, last.level) == ("database", Level.ERROR)
    assert "no_such_database" in last.found


def test_a_refused_password_is_named_with_its_remedy(installation: Installation) -> None:
    wrong = installation.settings.model_copy(update={"role_secret": SecretStr("w" * 40)})
    with Installation(wrong) as stranger:
        *_, last = examine(stranger)
    assert (last.subject, last.level) == ("database", Level.ERROR)
    assert "password authentication failed" in last.found
    assert last.remedy is not None
    assert "NEURIGRAPH_ROLE_SECRET" in last.remedy
    assert "server.log" not in last.remedy


def test_another_schema_is_named_with_its_remedy(installation: Installation) -> None:
    with installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.schema_migrations SET checksum = 'other'")
    *_, last = examine(installation)
    assert (last.subject, last.level) == ("database", Level.ERROR)
    assert last.found == "no migration leads from the schema of this database to this version"
    assert last.remedy is not None
    assert last.remedy.startswith("run `neurigraph user export` (earlier `neurigraph export`) for each user")


def test_commands_show_findings_and_last_errors(home_env: dict[str, str], server: ServerLease) -> None:
    run(home_env, "admin", "stats")
    env = {**home_env, "NEURIGRAPH_READY_FREE_BYTES": str(1 << 60)}
    found = ask(env, "doctor", code=1)
    assert found["well"] is False
    assert {one["subject"] for one in found["findings"] if one["level"] == "error"} >= {"disk"}
    shown = run(env, "doctor", code=1).stdout
    assert "error    disk:" in shown
    assert "→ make room" in shown
    assert isinstance(ask(home_env, "status", code=1)["last_errors"], list)


def test_services_are_well_formed(home_env: dict[str, str], tmp_path: Path) -> None:
    agent = plistlib.loads(ask(home_env, "admin", "service", "launchd")["text"].encode())
    assert agent["ProgramArguments"][1:] == ["up"]
    assert agent["EnvironmentVariables"]["NEURIGRAPH_HOME"] == home_env["NEURIGRAPH_HOME"]
    assert "ExecStart=" in run(home_env, "admin", "service", "systemd").stdout
    assert services.NO_RETRY == (entry.INVALID, entry.CONFIGURATION, entry.RUNNING)
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "a folder with 100% $HOME" / "neurigraph"
    program.parent.mkdir()
    program.touch(0o755)
    unit = tmp_path / "neurigraph.service"
    unit.write_text(services.systemd_unit(program, program.parent, {"NEURIGRAPH_HOME": str(program.parent)}))
    verify = ["systemd-analyze", "verify", str(unit)]
    done = subprocess.run(verify, env={"XDG_RUNTIME_DIR": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("two\nlines", 'a "quotation"', "a\\backslash"):
        with pytest.raises(ConfigurationError, match="a unit cannot name"):
            services.systemd_unit(program, tmp_path / name, {})
