"""The installation as a Dagster resource, open during a run or a tick.

Annotations are no text here: Dagster reads those of fields while it makes the class.
"""

from collections.abc import Generator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import PrivateAttr

from neurigraph_pipelines.defs.shared.sections import (
    SECTIONS,
    ClockResource,
    ModelsResource,
    ObjectStoreResource,
    PostgresResource,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from neurigraph_pipelines.wiring.installation import Installation

_kept: "dict[Path, Installation]" = {}
"""The installation of each home folder whose embedded server this process has made ready, and keeps running."""


class InstallationResource(dg.ConfigurableResource["InstallationResource"]):
    """Adapters of the installation that the settings describe, and the resources that stand for sections of these."""

    postgres: dg.ResourceDependency[PostgresResource]
    objects: dg.ResourceDependency[ObjectStoreResource]
    models: dg.ResourceDependency[ModelsResource]
    clock: dg.ResourceDependency[ClockResource]

    _installation: "Installation | None" = PrivateAttr(default=None)

    def __init__(self, **sections: Any) -> None:
        super().__init__(**{name: section() for name, section in SECTIONS.items()} | sections)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator["InstallationResource", None, None]:
        """Open the installation for one run or tick; its modules are loaded only now."""
        from neurigraph_pipelines.wiring.databases import settings_of
        from neurigraph_pipelines.wiring.installation import Installation

        given = dict(chain.from_iterable(getattr(self, name).given() for name in SECTIONS))
        with Installation(settings_of(None, **given), self.objects.s3_client) as installation:
            _keep_server(installation)
            self._installation = installation
            yield self

    @property
    def context(self) -> Context:
        """Settings and adapters for domain functions."""
        return self.opened.context

    @property
    def settings(self) -> Settings:
        """The settings of the installation."""
        return self.opened.settings

    @property
    def opened(self) -> "Installation":
        """The open installation."""
        if self._installation is None:
            raise dg.DagsterInvariantViolationError("the installation is open only during a run or a tick")
        return self._installation


def _keep_server(installation: "Installation") -> None:
    """Make the embedded database ready, once, and keep its server: `dagster dev` has no other process that does."""
    from neurigraph_pipelines.wiring.installation import Installation

    if installation.settings.database.url is None and installation.home not in _kept:
        kept = Installation(installation.settings)
        kept.migrate()
        _kept[installation.home] = kept
