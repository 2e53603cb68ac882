"""The component of a source: files that another program exports, or files at an address, for one user."""

import os
from dataclasses import replace
from typing import Any, Literal, Self

import dagster as dg
from pydantic import Field, field_validator, model_validator

from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_metadata import table
from neurigraph_pipelines.defs.shared.run_states import UNFINISHED
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.graph.provisioning import find_user
from neurigraph_pipelines.inbox import drop_intake
from neurigraph_pipelines.inbox.export_formats import EXPORT_FORMATS
from neurigraph_pipelines.inbox.gone_mails import shorten_threads
from neurigraph_pipelines.inbox.web_pages import receive_address
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError, TransientError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.views.kinds import DocumentType
from neurigraph_pipelines.views.scalars import ValuesByName

_LOOKS_AT_FILES, _LOOKS_AT_ADDRESSES = 60, 900
"""Seconds between two looks, unless the YAML file says otherwise."""

_KINDS = {"files": "file", "feed": "web", "calendar": "web", "repository": "git", "mailbox": "mail"}
_SCHEMES = {"mailbox": ("imaps://", "imap://")}
_ADDRESSES = ("https://", "http://")


class ExportSource(dg.Component, dg.Model, dg.Resolvable):
    """A folder, a bucket's prefix, a feed, calendar, repository or mailbox, whose news become memories of one user.

    It becomes an asset, a job, and a sensor that looks for files, or a schedule in its place.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,60}$", description="Name of the asset.")
    place: str = Field(
        description="A folder, or `s3://bucket/prefix` with endpoint and keys of the settings; else an address, whose "
        "host `NEURIGRAPH_WEB_HOSTS` allows."
    )
    kind: Literal["files", "feed", "calendar", "repository", "mailbox"] = Field(
        default="files",
        description="The kind of the place: files, a feed (RSS, Atom), a calendar (`.ics`), a Git repository, "
        "or a mailbox (`imaps://user@host/INBOX`).",
    )
    user: str = Field(description="Slug of the user who remembers the files.")
    format: str = Field(
        default="auto",
        description="Format of conversations, as `neurigraph import --format` names it. `document`: files are "
        "stored as they are. `auto`: as each file shows.",
    )
    password_variable: str = Field(
        default="NEURIGRAPH_MAILBOX_PASSWORD", description="The variable of the environment with a mailbox's password."
    )
    space: str | None = Field(default=None, description="Space that new memories are put in.")
    schedule: str | None = Field(default=None, description="Cron expression. Without one, a sensor looks for files.")
    seconds: int | None = Field(
        default=None, ge=10, description="Time between two looks of the sensor: 60, and 900 at addresses."
    )
    deletions: Literal["keep", "follow"] = Field(
        default="keep",
        description="`follow`: a file that is gone gets a version that says so, and the thread of a mail that is gone "
        "a version without it. Calendars and repositories do so always; of a feed nothing is ever gone, since it shows "
        "only what is new.",
    )

    @field_validator("format")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in ("auto", "document", *EXPORT_FORMATS):
            raise ValueError(f"name one of auto, document, {', '.join(EXPORT_FORMATS)}")
        return value

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.kind == "files" and self.place.startswith((*_ADDRESSES, *_SCHEMES["mailbox"])):
            raise ValueError("a place that is an address has a kind: feed, calendar, repository or mailbox")
        if self.kind != "files" and not self.place.startswith(_SCHEMES.get(self.kind, _ADDRESSES)):
            raise ValueError(f"the place of a {self.kind} is an address: https://…, or imaps://… of a mailbox")
        if self.kind != "files" and (self.format != "auto" or (self.deletions != "keep" and self.kind != "mailbox")):
            raise ValueError("format is of files, deletions of files and mailboxes: leave them out at other addresses")
        return self

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the asset with its job, and the schedule or sensor that launches the job."""
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
            kinds={"s3" if self.place.startswith("s3://") else _KINDS[self.kind]},
            description="Files that were taken in. Searches find their text as soon as they are read.",
        )
        def files(installation: InstallationResource) -> dg.MaterializeResult[None]:
            return dg.MaterializeResult(metadata=self._take_in(installation))

        return files

    def _sensor(self, job: Any) -> dg.SensorDefinition:
        @dg.sensor(
            name=f"{self.name}_sensor",
            job=job,
            minimum_interval_seconds=self.seconds or (_LOOKS_AT_FILES if self.kind == "files" else _LOOKS_AT_ADDRESSES),
            default_status=dg.DefaultSensorStatus.RUNNING,
            description=f"Looks for new files of {self.name}.",
        )
        def look(
            context: dg.SensorEvaluationContext, installation: InstallationResource
        ) -> dg.RunRequest | dg.SkipReason:
            running = dg.RunsFilter(job_name=job.name, statuses=UNFINISHED)
            if context.instance.get_runs_count(running):
                return dg.SkipReason("a run is already taking in files")
            if self.kind != "files":  # the run itself looks, since only a fetch shows what is new
                return dg.RunRequest()
            of_user = self._home(installation)
            is_new = next(drop_intake.new_files(of_user.database, self._place(of_user)), None) is not None
            return dg.RunRequest() if is_new or self._has_gone(of_user) else dg.SkipReason("no file is new")

        return look

    def _home(self, installation: InstallationResource) -> Any:
        """Return the installation in whose database the user lives.

        Raises:
            dagster.Failure: There is no such user.
        """
        of_user = installation.opened.databases.of_user(self.user)
        try:
            find_user(of_user.database, self.user)
        except NotFoundError:
            raise dg.Failure(f"{self.name} names a user who does not exist: `neurigraph user add` makes one") from None
        return of_user

    def _place(self, of_user: Any) -> Any:
        owner = (self.user, self.name)
        if self.kind == "files":
            return of_user.place_of(self.place, f"the place of {self.name}", owner)
        return of_user.live_place(self.kind, self.place, owner, os.environ.get(self.password_variable, ""))

    def _has_gone(self, of_user: Any) -> bool:
        if self.deletions == "keep":
            return False
        return drop_intake.has_gone(of_user.database, self._place(of_user), (self.user, self.name))

    def _take_in(self, installation: InstallationResource) -> ValuesByName:
        """Take in the new files and read them; return metadata for the asset's page, without a word of the files."""
        of_user = self._home(installation)
        try:
            taken, refused, gone = self._received(of_user)
        except (InvalidInputError, ConflictError, TransientError) as error:
            raise dg.Failure(f"{self.name} cannot be taken in: {error}") from error
        read = of_user.uploads.read_due(of_user.text_extractor, find_user(of_user.database, self.user).user_id)
        return {
            "files taken in": taken,
            "files refused": refused,
            "files gone": gone,
            "files read": sum(one.error is None for one in read),
            "files failed": sum(one.error is not None for one in read),
            "files": table(
                {"upload": str(one.upload_id), "parts": one.parts, "tokens": one.tokens, "read": one.error is None}
                for one in read
            ),
        }

    def _received(self, of_user: Any) -> tuple[int, int, int]:
        """Receive new files and mark files that are gone; return how many were taken in, refused and gone."""
        form = "mail" if self.kind == "mailbox" else self.format
        details = SourceDetails(
            metadata={"format": form} if form in EXPORT_FORMATS else {},
            container_tags=(self.space,) if self.space else (),
        )
        if self.kind == "repository":
            claims = Claims.of_user(find_user(of_user.database, self.user).user_id)
            stated = replace(details, document_type=DocumentType.REPOSITORY)
            found = receive_address(of_user.uploads, of_user.web, claims, self.place, details=stated)
            return int(found.new), 0, 0
        place = self._place(of_user)
        done = drop_intake.ingest_drops(
            of_user.database, place, of_user.uploads, details=details, is_document=self.format == "document"
        )
        refused = sum(one.error is not None for one in done)
        if self.deletions == "keep":
            return len(done) - refused, refused, 0
        owner = (self.user, self.name)
        gone = drop_intake.say_gone(of_user.database, place, of_user.uploads, owner, details)
        gone += shorten_threads(of_user.context, of_user.export_reader, place, owner, details)
        return len(done) - refused, refused, gone
