"""An installation: the adapters that the settings choose.

With ``model_wiring`` and ``storage_wiring`` the only module of the package that imports ``resources``. It chooses and
connects adapters and holds no rules. Each adapter is made on first use, so a command that only searches loads no
language model.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from neurigraph_pipelines.database.migrations import MigrationReport, migrate
from neurigraph_pipelines.database.paging import Cursors, Listing
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.ports import (
    DropPlace,
    ExportReader,
    Redactor,
    Replica,
    TextExtractor,
    TokenVerifier,
    WebFetcher,
)
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.models import WiredModels
from neurigraph_pipelines.wiring.process_tracing import trace_this_process
from neurigraph_pipelines.wiring.storage import WiredStorage
from resources.home_secrets import HomeSecrets
from resources.postgres.addresses import checked_url
from resources.postgres.dagster_database import dagster_address, ensure_dagster_database
from resources.postgres.database import PostgresDatabase, analyst_address, ensure_database
from resources.postgres.embedded import EmbeddedPostgres, ServerLease
from resources.postgres.watch import kept_running

if TYPE_CHECKING:
    from collections.abc import Callable

    from neurigraph_pipelines.exchange.peers.peering import Peering
    from neurigraph_pipelines.exchange.webhooks.outbox import Outbox
    from neurigraph_pipelines.inbox.uploads import Uploads
    from neurigraph_pipelines.settings.storage import S3Settings
    from neurigraph_pipelines.wiring.databases import Databases
    from resources.webhook import Webhook

_EMBEDDED_DATABASE = "neurigraph"
_MADE_ONCE = (
    *("server", "administrator_url", "database", "replica", "objects", "encrypted_objects", "graph_keys"),
    *("_plain_objects", "drop_place", "uploads", "databases"),
)


class Installation(WiredModels, WiredStorage):
    """One installation: its server, folders and models. Close it, or use it as a context manager.

    Args:
        s3_client: Makes boto3's client for settings of S3, in place of the adapter's own.
    """

    def __init__(self, settings: Settings | None = None, s3_client: Callable[[S3Settings], Any] | None = None) -> None:
        self.settings = settings or Settings()
        self._s3_client = s3_client
        self._open = ExitStack()
        trace_this_process(self.settings.telemetry)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close connections, and stop the embedded server if no other process uses it."""
        self._open.close()
        for made in _MADE_ONCE:
            self.__dict__.pop(made, None)

    @cached_property
    def secrets(self) -> HomeSecrets:
        """The secrets of the settings and of the home folder."""
        named = {name: getattr(self.settings, name) for name in ("secret", "role_secret", "admin_key", "metrics_token")}
        given = {name: None if setting is None else setting.get_secret_value() for name, setting in named.items()}
        return HomeSecrets(self.home, given)

    @cached_property
    def secret(self) -> Secret:
        """The secret that signs claims and gives the passwords of the database roles."""
        return self.secrets.secret()

    @cached_property
    def cursors(self) -> Cursors:
        """The seals of the cursors of lists; cursors end when the secret is replaced."""
        return Cursors(self.secret.cursor_mac)

    def listing(self, claims: Claims, limit: int = 50, cursor: str | None = None) -> Listing:
        """Return a request for a page of a list."""
        return Listing(self.database, self.cursors, claims, limit, cursor)

    def rotate_secret(self) -> tuple[str, ...]:
        """Replace the secrets in the database; return the files of the home folder that were generated again."""
        for cached in ("secret", "cursors", "database", "replica", "webhooks", "peers"):
            self.__dict__.pop(cached, None)

        def replace() -> None:
            migrate(self.administrator_url, self.secret, replace_claims_key=True, replace_passwords=True)

        return self.secrets.rotate(replace)

    @cached_property
    def home(self) -> Path:
        """The home folder, made if absent and accessible to its owner only."""
        home = self.settings.home.expanduser().absolute()
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ConfigurationError(
                f"cannot use {home} as home folder: {error.strerror}. Set NEURIGRAPH_HOME."
            ) from error
        return home

    @cached_property
    def server(self) -> ServerLease | None:
        """The embedded server, started if necessary; None if the settings name another server."""
        if self.settings.database.url is not None:
            return None
        return self._open.enter_context(EmbeddedPostgres(self.home).lease())

    def kept_server(self, report: Callable[[str], None]) -> AbstractContextManager[None]:
        """Start the embedded server again whenever it dies within the block; do nothing without one."""
        return kept_running(self.home, report) if self.server is not None else nullcontext()

    @cached_property
    def administrator_url(self) -> str:
        """Connection string of a role that may create roles; for ``migrate`` only."""
        if self.settings.database.url is not None:
            return checked_url(self.settings.database.url.get_secret_value(), "NEURIGRAPH_DATABASE_URL")
        server = self.server
        assert server is not None
        ensure_database(server.url(server.superuser, server.superuser_password, "postgres"), _EMBEDDED_DATABASE)
        return server.url(server.superuser, server.superuser_password, _EMBEDDED_DATABASE)

    @cached_property
    def database(self) -> PostgresDatabase:
        """The database, with transactions in each of its roles."""
        return self._database(self.administrator_url, self.settings.database.wait_seconds)

    @cached_property
    def replica(self) -> Replica | None:
        """The database that searches read from; None if the settings name no standby."""
        url = self.settings.database.replica_url
        if url is None:
            return None
        from resources.postgres.replica import WAIT_SECONDS, ReplicaReads

        checked = checked_url(url.get_secret_value(), "NEURIGRAPH_DATABASE_REPLICA_URL")
        standby = self._database(checked, min(WAIT_SECONDS, self.settings.database.wait_seconds))
        return ReplicaReads(self.database, standby, self.settings.database.replica_lag_seconds)

    def _database(self, url: str, pool_wait: float) -> PostgresDatabase:
        database = PostgresDatabase(
            url,
            self.secret,
            pool_size=self.settings.database.pool_size,
            statement_timeout=self.settings.database.statement_timeout_seconds,
            pool_wait=pool_wait,
            action_hours=self.settings.lifecycle.action_expiry_hours,
        )
        self._open.callback(database.close)
        return database

    @property
    def dagster_address(self) -> str:
        """Connection string of Dagster's storage: a database of its own on the same server, with a role of its own."""
        return dagster_address(self.administrator_url, self.secret)

    def ensure_dagster_database(self) -> None:
        """Make the database of Dagster's storage unless it exists."""
        ensure_dagster_database(self.administrator_url)

    @property
    def analyst_address(self) -> str:
        """Address of the database for analysts, who read counts and metadata without words of users."""
        return analyst_address(self.administrator_url, self.secret)

    def migrate(self, on_applied: Callable[[str], None] | None = None) -> MigrationReport:
        """Bring the shared schema up to date."""
        return migrate(self.administrator_url, self.secret, on_applied=on_applied)

    @cached_property
    def token_verifier(self) -> TokenVerifier | None:
        """The verifier of JSON Web Tokens; None if the settings name no issuer."""
        jwt = self.settings.jwt
        if jwt.audience is None or jwt.issuer is None:
            return None
        from resources.json_web_tokens import JsonWebTokens, KeySet

        return JsonWebTokens(
            jwt.audience,
            jwt.issuer,
            secret=jwt.secret.get_secret_value() if jwt.secret is not None else None,
            keys=KeySet(jwt.jwks_url, jwt.jwks_seconds) if jwt.jwks_url else None,
            leeway_seconds=jwt.leeway_seconds,
            most_seconds=jwt.most_seconds,
        )

    @cached_property
    def redactor(self) -> Redactor | None:
        """The redactor of messages and titles; None if the settings redact nothing."""
        return self._redactor(*self.settings.ingestion.redact) if self.settings.ingestion.redact else None

    @cached_property
    def key_redactor(self) -> Redactor:
        """The redactor of texts that may hold keys: it redacts them, too, whatever the settings say."""
        return self._redactor("key", *self.settings.ingestion.redact)

    def _redactor(self, *kinds: str) -> Redactor:
        from resources.redaction import PatternRedactor

        return PatternRedactor(kinds, self.settings.ingestion.redact_phone_region)

    @cached_property
    def uploads(self) -> Uploads:
        """The uploads of this installation."""
        from neurigraph_pipelines.inbox.uploads import Uploads

        return Uploads(self.context, self.export_reader)

    @cached_property
    def export_reader(self) -> ExportReader:
        """The reader of uploaded exports of conversations, which reads each in a process of its own."""
        from resources.extractors.confined import Limits
        from resources.extractors.export_reader import SubprocessExportReader

        uploads = self.settings.uploads
        limits = Limits(uploads.import_seconds, uploads.extraction_memory_bytes, "NEURIGRAPH_IMPORT_SECONDS")
        return SubprocessExportReader(limits, self.settings.ingestion.max_message_bytes)

    @cached_property
    def text_extractor(self) -> TextExtractor:
        """The reader of uploaded files, which reads each in a process of its own."""
        from resources.extractors.confined import Limits
        from resources.extractors.text_extractor import SubprocessExtractor, can_recognize

        uploads = self.settings.uploads
        reads_images = uploads.ocr_seconds > 0 and can_recognize()
        return SubprocessExtractor(
            uploads.extraction_seconds,
            uploads.extraction_memory_bytes,
            uploads.extraction_text_bytes,
            Limits(uploads.ocr_seconds, uploads.ocr_memory_bytes, "NEURIGRAPH_OCR_SECONDS") if reads_images else None,
        )

    @cached_property
    def failure_webhook(self) -> Webhook | None:
        """The webhook for reports of failed runs; None if the settings name none."""
        from resources.webhook import Webhook

        url = self.settings.failure_webhook.url
        if url is None:
            return None
        return Webhook(url.get_secret_value(), self.settings.failure_webhook.timeout_seconds)

    @cached_property
    def webhooks(self) -> Outbox:
        """The parts with which webhooks of users work."""
        from neurigraph_pipelines.exchange.webhooks.outbox import Outbox
        from resources.webhook_sender import HttpWebhookSender

        settings = self.settings.webhooks
        sender = HttpWebhookSender(settings.hosts, settings.local_hosts, settings.timeout_seconds)
        return Outbox(self.context, sender, self.secret)

    @cached_property
    def web(self) -> WebFetcher:
        """The fetcher of web pages and repositories that users name."""
        from resources.web_fetcher import HttpWebFetcher

        settings = self.settings.web
        repository = (settings.repository_seconds, settings.repository_bytes)
        hosts = (settings.hosts, settings.local_hosts)
        return HttpWebFetcher(*hosts, settings.timeout_seconds, settings.page_bytes, repository)

    def live_place(self, kind: str, url: str, owner: tuple[str, str], password: str = "") -> DropPlace:
        """Return the place of a ``feed``, a ``calendar`` or a ``mailbox`` of a user and a source."""
        from resources.allowed_hosts import AllowedHosts
        from resources.live_places import CalendarPlace, FeedPlace
        from resources.mailbox_place import MailboxPlace

        if kind == "mailbox":
            of = self.settings.web
            hosts = AllowedHosts(of.hosts, of.local_hosts, "mailbox", "NEURIGRAPH_WEB_HOSTS")
            place = MailboxPlace(hosts, url, password, owner, of.timeout_seconds, of.page_bytes)
            self._open.callback(place.close)
            return place
        return (FeedPlace if kind == "feed" else CalendarPlace)(self.web, url, owner)

    @cached_property
    def peers(self) -> Peering:
        """The parts with which pulls of peers work."""
        from neurigraph_pipelines.exchange.peers.peering import Peering
        from resources.peer_client import HttpPeerClient

        of = self.settings.peers
        return Peering(self.context, HttpPeerClient(of.hosts, of.local_hosts, of.timeout_seconds), self.secret)

    @cached_property
    def databases(self) -> Databases:
        """This installation's database and those of its directory, over which users are spread."""
        from neurigraph_pipelines.wiring.databases import Databases

        return self._open.enter_context(closing(Databases(self)))

    @property
    def context(self) -> Context:
        """The context of domain functions that work for all users."""
        return Context(self)

    def acting_for(self, claims: Claims) -> Context:
        """Return the context of domain functions that work for one caller."""
        return Context(self, claims)


def stop_unused_server(home: Path) -> None:
    """Stop the embedded server of a home folder, unless a process holds a lease on it."""
    EmbeddedPostgres(home).stop_unused()
