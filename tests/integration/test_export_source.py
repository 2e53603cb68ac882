"""A project of somebody else: one YAML file makes asset, job and sensor, and what its files say is found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from neurigraph_pipelines.components import ExportSource
from neurigraph_pipelines.defs.resources import resources
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.command_line import describe, environment
from tests.support.s3_servers import ACCESS_KEY_ID, SECRET_ACCESS_KEY, moto_server, new_bucket, s3_client

DG = Path(sys.executable).parent / "dg"
PAGE = (ROOT / "docs" / "uploads.md").read_text(encoding="utf-8")
TALK = b'{"external_id": "t1", "messages": [{"role": "user", "content": "The ferry to Bryher leaves at noon."}]}\n'


def project_of_the_page(folder: Path, exports: Path) -> None:
    """Write the files that the page names."""
    for name, content in re.findall(r"^`([\w./]+)`[^\n]*:?\n\n```\w+\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content.replace("/srv/exports/talks", str(exports)), encoding="utf-8")
    (folder / "my_sources" / "__init__.py").touch()


def source(**attributes: object) -> dg.Definitions:
    """Return the definitions of a source, with the resources of the installation."""
    given = {"name": "talks", "user": "bob", **attributes}
    built = ExportSource(**given).build_defs(dg.ComponentTree.for_test().load_context)  # type: ignore[arg-type]
    return dg.Definitions.merge(built, resources())


def found(installation: Installation, claims: Claims, words: str) -> list[str]:
    return [hit.summary for hit in search(installation.acting_for(claims), Question(words)).hits]


def test_project_of_the_page_imports_a_sample(installation: Installation, tmp_path: Path) -> None:
    user, _ = create_user(installation.database, "bob")
    exports, project = tmp_path / "exports", tmp_path / "project"
    exports.mkdir()
    shutil.copy(ROOT / "samples" / "bob.jsonl", exports / "bob.jsonl")
    project_of_the_page(project, exports)
    given = environment(
        installation.settings,
        HOME=str(tmp_path),
        VIRTUAL_ENV=str(DG.parents[1]),
        PATH=f"{DG.parent}{os.pathsep}{os.environ['PATH']}",
        DAGSTER_DISABLE_TELEMETRY="1",
        NEURIGRAPH_DROP_SETTLE_SECONDS="0",
        PYTHONPATH=str(ROOT),
    )
    for command in ("list components", "check defs", "launch --assets team_talks"):
        done = subprocess.run(
            [DG, *command.split()], cwd=project, env=given, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        if command == "list components":
            assert "ExportSource" in done.stdout
    assert any("Dave" in text for text in found(installation, Claims.of_user(user.user_id), "What did Dave say?"))


def test_sensor_takes_each_version_once(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, _ = create_user(installation.database, "bob")
    describe(installation.settings, monkeypatch, NEURIGRAPH_DROP_SETTLE_SECONDS="0")
    exports = tmp_path / "exports"
    exports.mkdir()
    defs = source(place=str(exports), format="jsonl", space="work")
    with dg.DagsterInstance.ephemeral() as instance:
        sensor = defs.get_repository_def().get_sensor_def("talks_sensor")

        def tick() -> int:
            with dg.build_sensor_context(
                instance=instance, resources={"installation": InstallationResource()}
            ) as context:
                return len(sensor.evaluate_tick(context).run_requests or ())

        assert tick() == 0
        (exports / "a.txt").write_bytes(TALK)  # no file shows its format by its name alone
        assert tick() == 1
        assert defs.resolve_job_def("talks_job").execute_in_process(instance=instance).success
        assert tick() == 0
    assert found(installation, Claims.of_user(user.user_id), "When does the ferry leave?") == [
        "The ferry to Bryher leaves at noon."
    ]


def test_prefix_of_a_bucket(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    user, _ = create_user(installation.database, "bob")
    with moto_server() as address, s3_client(address) as client:
        bucket = new_bucket(address)
        for key in ("out/talks/deep/a.jsonl", "out/other/b.jsonl"):
            client.put_object(Bucket=bucket, Key=key, Body=TALK)
        describe(
            installation.settings,
            monkeypatch,
            NEURIGRAPH_S3_ENDPOINT_URL=address,
            NEURIGRAPH_S3_REGION="us-east-1",
            NEURIGRAPH_S3_ACCESS_KEY_ID=ACCESS_KEY_ID,
            NEURIGRAPH_S3_SECRET_ACCESS_KEY=SECRET_ACCESS_KEY,
        )
        defs = source(place=f"s3://{bucket}/out/talks", schedule="0 6 * * *")
        result = defs.resolve_job_def("talks_job").execute_in_process()
    (made,) = result.asset_materializations_for_node("talks")
    assert made.metadata["files taken in"].value == 1
    assert made.metadata["files read"].value == 1
    assert len(found(installation, Claims.of_user(user.user_id), "When does the ferry leave?")) == 1
    (schedule,) = defs.get_repository_def().schedule_defs
    assert schedule.cron_schedule == "0 6 * * *"


def test_wrong_attributes_are_refused(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(installation.settings, monkeypatch)
    with pytest.raises(ValueError, match="name one of auto, document"):
        source(place="/tmp", format="fax")
    nobody = source(place="/tmp", user="nobody").resolve_job_def("talks_job")
    result = nobody.execute_in_process(raise_on_error=False)
    assert not result.success
    (failed,) = result.filter_events(lambda event: event.is_step_failure)
    assert "names a user who does not exist" in str(failed.step_failure_data.error)
