"""All settings in groups, with default, unit and reason; ``docs/settings.md`` is generated from here.

The only package that reads the environment, and only when ``Settings()`` is called. The code that uses a setting
explains its effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, SecretStr, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from neurigraph_pipelines.settings.faces import (
    ApiSettings,
    FailureWebhookSettings,
    JwtSettings,
    PeerSettings,
    ReadinessSettings,
    UiSettings,
    WebhookSettings,
    WebSettings,
)
from neurigraph_pipelines.settings.group import PREFIX, variable_of
from neurigraph_pipelines.settings.operation import LogSettings, RunSettings, TelemetrySettings
from neurigraph_pipelines.settings.pipeline import IngestionSettings, LifecycleSettings, UploadSettings
from neurigraph_pipelines.settings.providers import ModelCallSettings, ModelSettings, RerankerSettings, TokenSettings
from neurigraph_pipelines.settings.retrieval import AskSettings, ExpansionSettings, RetrievalSettings
from neurigraph_pipelines.settings.sources import (
    ByVariable,
    OfHome,
    default_home,
    given_of,
    named_file,
    values_of_environment,
    values_of_file,
)
from neurigraph_pipelines.settings.storage import DatabaseSettings, ObjectSettings, S3Settings
from neurigraph_pipelines.views.scalars import ValuesByName

__all__ = ["Language", "Setting", "Settings", "given_settings", "list_settings"]

Language = Literal[
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german", "greek",
    "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "portuguese",
    "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
]  # fmt: skip
"""Languages that both PyStemmer and every Postgres from version 15 can stem."""


class Settings(BaseSettings):
    """Settings of one installation: ``NEURIGRAPH_*`` variables, then a named file, then the file of the home folder.

    Keyword arguments may name a setting as its variable does, in lower case and without ``NEURIGRAPH_``.
    """

    model_config = SettingsConfigDict(
        alias_generator=variable_of,
        populate_by_name=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,  # it may be a secret
    )

    home: Path = Field(
        default_factory=default_home,
        description="Folder for everything on this machine: the embedded server, objects, logs, the secret.",
    )
    secret: SecretStr | None = Field(
        default=None,
        description="Signs claims; at least 32 characters. "
        "Unset: generated once and stored in the home folder, readable by its owner only.",
    )
    role_secret: SecretStr | None = Field(
        default=None,
        description="Derives the passwords of the database roles; at least 32 characters. All installations on one "
        "Postgres server need the same one. Unset: generated once and stored in the home folder, readable by its owner "
        "only.",
    )
    admin_key: SecretStr | None = Field(
        default=None,
        description="Bearer key that may create users over HTTP. Unset: generated once and stored in the home folder; "
        "`neurigraph admin key` prints it.",
    )
    metrics_token: SecretStr | None = Field(
        default=None,
        description="Bearer token that reads `/metrics`, and opens nothing else. Unset: generated once and stored in "
        "the home folder; `neurigraph admin metrics-token` prints it.",
    )
    opaque_schema_names: bool = Field(
        default=False,
        description="Whether the schemas of new users' nodes get meaningless names: every role of a database sees its "
        "catalog (docs/access.md).",
    )
    language: Language = Field(
        default="english",
        description="Language of texts that do not tell their own, one that Snowball and Postgres know, such as "
        "`german`; the error for an unknown one lists them (docs/models.md).",
    )
    database: DatabaseSettings = DatabaseSettings()
    jwt: JwtSettings = JwtSettings()
    models: ModelSettings = ModelSettings()
    model_calls: ModelCallSettings = ModelCallSettings()
    tokens: TokenSettings = TokenSettings()
    ingestion: IngestionSettings = IngestionSettings()
    uploads: UploadSettings = UploadSettings()
    objects: ObjectSettings = ObjectSettings()
    s3: S3Settings = S3Settings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    reranker: RerankerSettings = RerankerSettings()
    expansion: ExpansionSettings = ExpansionSettings()
    ask: AskSettings = AskSettings()
    failure_webhook: FailureWebhookSettings = FailureWebhookSettings()
    webhooks: WebhookSettings = WebhookSettings()
    peers: PeerSettings = PeerSettings()
    web: WebSettings = WebSettings()
    api: ApiSettings = ApiSettings()
    readiness: ReadinessSettings = ReadinessSettings()
    ui: UiSettings = UiSettings()
    runs: RunSettings = RunSettings()
    logs: LogSettings = LogSettings()
    telemetry: TelemetrySettings = TelemetrySettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - named by pydantic-settings, like those below
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read each variable by its full name, whichever group it is in."""
        variables = [setting.variable for setting in list_settings()]
        return (
            init_settings,
            ByVariable(settings_cls, variables, values_of_environment()),
            ByVariable(settings_cls, variables, values_of_file(named_file())),
            OfHome(settings_cls, variables),
        )

    @model_validator(mode="before")
    @classmethod
    def _grouped(cls, values: ValuesByName) -> ValuesByName:
        """Move each value that is given by the name of its variable into its group."""
        known, nested = _settings_by_name(), ValuesByName()
        # Later values come from sources of higher priority, and a single setting wins over its group.
        single = {name for name in values if name.islower() and name not in cls.model_fields}
        for name, value in sorted(values.items(), key=lambda item: item[0] in single):
            if isinstance(value, BaseModel | dict):
                for field, one in dict(value).items():
                    setting = known.get(f"{name}.{field}")
                    nested.setdefault(name, {})[setting.variable if setting else field] = one
            elif setting := known.get(name):
                (nested.setdefault(setting.group, {}) if setting.group else nested)[setting.variable] = value
        return nested

    @property
    def chosen_reranker(self) -> Literal["none", "cohere", "voyage", "compatible", "language_model"]:
        """The reranker that is used."""
        if self.reranker.choice != "auto":
            return self.reranker.choice
        return "cohere" if self.reranker.cohere_api_key else "voyage" if self.models.voyage_api_key else "none"

    def changed(self, **values: object) -> Settings:
        """Return these settings with other values, each given by the name of its variable, and not validated."""
        update: ValuesByName = {}
        for name, value in values.items():
            setting = _settings_by_name()[name]
            if setting.group is None:
                update[setting.name] = value
            else:
                group = update.get(setting.group, getattr(self, setting.group))
                update[setting.group] = group.model_copy(update={setting.name: value})
        return self.model_copy(update=update)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its environment variable, its place in ``Settings``, and its field in pydantic."""

    variable: str
    group: str | None
    name: str
    field: FieldInfo


def list_settings() -> Iterator[Setting]:
    """Return all settings, group after group."""
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for inner, inner_field in kind.model_fields.items():
                yield Setting(str(inner_field.validation_alias), name, inner, inner_field)
        else:
            yield Setting(str(field.validation_alias), None, name, field)


def given_settings() -> dict[str, str]:
    """Return the text of each variable that the environment or the named file sets."""
    variables = [setting.variable for setting in list_settings()]
    return {**given_of(variables, values_of_file(named_file())), **given_of(variables, values_of_environment())}


@cache
def _settings_by_name() -> dict[str, Setting]:
    """Return all settings by variable, by variable in lower case without ``NEURIGRAPH_``, and by ``group.name``."""
    found: dict[str, Setting] = {}
    for setting in list_settings():
        for name in (
            setting.variable,
            setting.variable.removeprefix(PREFIX).lower(),
            f"{setting.group}.{setting.name}",
        ):
            found[name] = setting
    return found
