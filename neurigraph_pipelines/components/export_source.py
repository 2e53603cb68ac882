"""The component of a source: files that another program exports, taken in for one user."""

from typing import Any

import dagster as dg
from pydantic import Field, field_validator

from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_metadata import table
from neurigraph_pipelines.defs.shared.run_states import UNFINISHED
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.graph.provisioning import find_user
from neurigraph_pipelines.inbox import drop_intake
from neurigraph_pipelines.inbox.export_formats import EXPORT_FORMATS
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.sources import SourceDetails


class ExportSource(dg.Component, dg.Model, dg.Resolvable):
    """A folder or a prefix of a bucket, whose new and changed files become memories of one user.

    It becomes an asset, a job, and a sensor that looks for files, or a schedule in its place.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,60}$", description="Name of the asset.")
    place: str = Field(description="A folder, or `s3://bucket/prefix` with endpoint and keys of the settings.")
    user: str = Field(description="Slug of the user who remembers the files.")
    format: str = Field(
        default="auto",
        description="Format of conversations, as `neurigraph import --format` names it. `document`: files are "
        "stored as they are. `auto`: as each file shows.",
    )
    space: str | None = Field(default=None, description="Space that new memories are put in.")
    schedule: str | None = Field(default=None, description="Cron expression. Without one, a sensor looks for files.")
    seconds: int = Field(default=60, ge=10, description="Time between two looks of the sensor.")

    @field_validator("format")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in ("auto", "document", *EXPORT_FORMATS):
            raise ValueError(f"name one of auto, document, {', '.join(EXPORT_FORMATS)}")
        return value

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the asset with its job, and what launches that."""
        asset = self._asset()
        job = dg.define_asset_job(
            f"{self.name}_job",
            selection=dg.AssetSelection.assets(asset),
            tags=YIELDS,
            executor_def=dg.in_process_executor,
            description=f"Takes in the new files of {self.name}.",
        )
        if self.schedule is None:
            return dg.Definitions(assets=[asset], jobs=[job], sensors=[self._sensor(job)])
        at = dg.ScheduleDefinition(
            name=f"{self.name}_schedule",
            job=job,
            cron_schedule=self.schedule,
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description=f"Looks for new files of {self.name}.",
        )
        return dg.Definitions(assets=[asset], jobs=[job], schedules=[at])

    def _asset(self) -> dg.AssetsDefinition:
        @dg.asset(
            name=self.name,
            group_name="sources",
            kinds={"s3" if self.place.startswith("s3://") else "file"},
            description="Files that were taken in. What they say is found as soon as they are read.",
        )
        def files(installation: InstallationResource) -> dg.MaterializeResult[None]:
            return dg.MaterializeResult(metadata=self._take_in(installation))

        return files

    def _sensor(self, job: Any) -> dg.SensorDefinition:
        @dg.sensor(
            name=f"{self.name}_sensor",
            job=job,
            minimum_interval_seconds=self.seconds,
            default_status=dg.DefaultSensorStatus.RUNNING,
            description=f"Looks for new files of {self.name}.",
        )
        def look(
            context: dg.SensorEvaluationContext, installation: InstallationResource
        ) -> dg.RunRequest | dg.SkipReason:
            running = dg.RunsFilter(job_name=job.name, statuses=UNFINISHED)
            if context.instance.get_runs_count(running):
                return dg.SkipReason("a run is already taking in files")
            home, place = self._opened(installation)
            is_new = next(drop_intake.new_files(home.database, place), None) is not None
            return dg.RunRequest() if is_new else dg.SkipReason("no file is new")

        return look

    def _opened(self, installation: InstallationResource) -> Any:
        """Return the installation in whose database the user lives, and the place.

        Raises:
            dagster.Failure: There is no such user.
        """
        home = installation.opened.databases.of_user(self.user)
        try:
            find_user(home.database, self.user)
        except NotFoundError:
            raise dg.Failure(f"{self.name} names a user who does not exist: `neurigraph user add` makes one") from None
        return home, home.place_of(self.place, f"the place of {self.name}", (self.user, self.name))

    def _take_in(self, installation: InstallationResource) -> dict[str, Any]:
        """Take in the new files and read them; return what the asset's page shows, without a word of theirs."""
        home, place = self._opened(installation)
        details = SourceDetails(
            metadata={"format": self.format} if self.format in EXPORT_FORMATS else {},
            container_tags=(self.space,) if self.space else (),
        )
        taken = drop_intake.ingest_drops(
            home.database, place, home.uploads, details=details, is_document=self.format == "document"
        )
        read = home.uploads.read_due(home.text_extractor, find_user(home.database, self.user).user_id)
        refused = sum(one.error is not None for one in taken)
        return {
            "files taken in": len(taken) - refused,
            "files refused": refused,
            "files read": sum(one.error is None for one in read),
            "files failed": sum(one.error is not None for one in read),
            "files": table(
                {"upload": str(one.upload_id), "parts": one.parts, "tokens": one.tokens, "read": one.error is None}
                for one in read
            ),
        }
