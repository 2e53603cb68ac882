"""The kinds of files and addresses that ``import`` takes in, and the way of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile

import typer

from neurigraph_pipelines.faces.cli import output
from neurigraph_pipelines.faces.cli.exporting import FORMAT, import_export
from neurigraph_pipelines.faces.cli.git_history import repository_of, space_of, write_history
from neurigraph_pipelines.faces.cli.session import argument, opened
from neurigraph_pipelines.faces.cli.uploading import ensure_owner, find_owner, import_document, import_page
from neurigraph_pipelines.faces.cli.vaults import format_of, import_notes, import_view
from neurigraph_pipelines.faces.cli.watching import watch
from neurigraph_pipelines.inbox import importing
from neurigraph_pipelines.inbox.import_format import DOCUMENT, why_document
from neurigraph_pipelines.inbox.imports.date_order import DateOrder
from neurigraph_pipelines.inbox.imports.git_log import FORMAT as GIT
from neurigraph_pipelines.inbox.imports.source import content_size, require_there
from neurigraph_pipelines.inbox.imports.vault import FORMS
from neurigraph_pipelines.model import Claims, Privacy, ReceivedThrough, RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.external_ids import external_id_of
from resources.age_encryption import is_encrypted

_ADDRESSES = ("http://", "https://")
_NOTHING_ACCEPTED = 2


@dataclass(frozen=True)
class Import:
    """The options of an import that hold for each of its files."""

    user: str
    format_name: str
    privacy: Privacy | None
    details: SourceDetails
    dates: str | None
    dry_run: bool

    def take(self, what: str, external_id: str | None, key: Path | None, is_watched: bool) -> None:
        """Take in a file, a folder or an address.

        Args:
            external_id: The caller's id of a file that is stored as it is.
            key: The file with the key of an encrypted export.
            is_watched: Whether new and changed files of a folder follow until Ctrl-C.

        Raises:
            InvalidInputError: There is nothing at the path, or the options do not go together.
        """
        if key is None and what.lower().startswith(_ADDRESSES):
            if self.dry_run:
                raise InvalidInputError(
                    "--dry-run is for conversations: what is at an address is fetched and stored as a whole."
                )
            import_page(what, self.user, self.privacy, external_id, self.details)
            return
        path = Path(what)
        require_there(path)
        if key is not None or (self.format_name in ("auto", FORMAT) and is_encrypted(path)):
            import_export(path, self.user, key)
        elif not is_watched:
            self._take_file(path, external_id)
        elif self.dry_run or external_id is not None or self.details.replaces is not None or self.format_name in FORMS:
            raise InvalidInputError(
                f"--watch goes without --dry-run, --external-id, --replaces and --format {' or '.join(FORMS)}."
            )
        else:
            self._watch(path)

    def take_history(self, folder: Path) -> None:
        """Take in the commits of a repository and its decisions, in the space of the repository.

        Raises:
            InvalidInputError: The folder is no repository, or there is no Git.
        """
        repository = repository_of(folder)
        tags = (*self.details.container_tags, space_of(repository))
        with NamedTemporaryFile(prefix="neurigraph-git-", suffix=".log") as log:
            for item in write_history(folder, repository, log):
                self._note_rejected(item)
            log.flush()
            replace(self, format_name=GIT, details=replace(self.details, container_tags=tags))._take_file(
                Path(log.name), None
            )

    def _watch(self, folder: Path) -> None:
        def take(file: Path) -> None:
            self._take_file(file, external_id_of("watch", argument(file.relative_to(folder).as_posix())))

        with opened() as installation:  # kept open, so that the server does not start for each file
            watch(folder, installation.settings.uploads.drop_settle_seconds, take)

    def _take_file(self, file: Path, external_id: str | None) -> None:
        chosen = format_of(file) if self.format_name == "auto" else self.format_name
        if self.dry_run and chosen in (FORMAT, DOCUMENT):
            raise InvalidInputError("--dry-run is for conversations: this file would be stored as a whole.")
        if chosen in FORMS:
            if external_id is not None:
                raise InvalidInputError("--external-id is for one file: the notes of a vault are known by their paths.")
            import_notes(file, chosen, self.user, self.privacy, self.details, self.dry_run)
        elif chosen == FORMAT:
            import_export(file, self.user, None)
        elif chosen == DOCUMENT:
            if self.format_name == "auto" and (reason := why_document(file)) is not None:
                output.note(f"not read as a conversation: {reason}")
            import_document(file, self.user, self.privacy, external_id, self.details)
        else:
            self._take_conversations(file, chosen)

    def _take_conversations(self, file: Path, chosen: str) -> None:
        total, order = content_size(file), DateOrder(self.dates) if self.dates else None
        with opened() as installation:
            if self.dry_run:
                owner, created = find_owner(installation, self.user), False
            else:
                installation, owner, created = ensure_owner(installation, self.user)
            with output.progress(in_bytes=True) as progress:
                task = progress.add_task(f"{'reading' if self.dry_run else 'importing'} {chosen}", total=total)
                on_bytes = partial(progress.advance, task)
                if owner is None:
                    output.note(f"the user {self.user} does not exist and would be created")
                    report = importing.count_file(
                        installation.settings,
                        file,
                        chosen,
                        on_bytes=on_bytes,
                        on_rejected=self._note_rejected,
                        date_order=order,
                    )
                else:
                    report = importing.import_file(
                        installation.acting_for(Claims.of_user(owner.user_id, ReceivedThrough.IMPORT)),
                        file,
                        chosen,
                        privacy=self.privacy,
                        details=self.details,
                        dry_run=self.dry_run,
                        on_bytes=on_bytes,
                        on_rejected=self._note_rejected,
                        date_order=order,
                    )
        data = {"user": self.user if owner is None else owner.slug, "user_created": created, "dry_run": self.dry_run}
        data |= {"file": str(file), "format": chosen, **asdict(report)}
        output.result(data, lambda: import_view(report, self.dry_run))
        if report.rejected and not report.conversations_seen:
            raise typer.Exit(_NOTHING_ACCEPTED)

    def _note_rejected(self, item: RejectedItem) -> None:
        output.note(f"rejected: {item.where}: {item.reason}")
