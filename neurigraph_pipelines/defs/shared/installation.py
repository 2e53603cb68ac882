"""The installation as a Dagster resource, open during a run or a tick."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import PrivateAttr

from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from neurigraph_pipelines.wiring.installation import Installation

_kept: dict[Path, Installation] = {}
"""The installation of each home folder whose embedded server this process has made ready, and keeps running."""


class InstallationResource(dg.ConfigurableResource["InstallationResource"]):
    """Adapters and settings of the installation that the environment describes."""

    _installation: Installation | None = PrivateAttr(default=None)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator[InstallationResource, None, None]:
        """Open the installation for one run or tick; its modules are loaded only now."""
        from neurigraph_pipelines.wiring.installation import Installation

        with Installation() as installation:
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
    def opened(self) -> Installation:
        """The open installation."""
        if self._installation is None:
            raise dg.DagsterInvariantViolationError("the installation is open only during a run or a tick")
        return self._installation


def _keep_server(installation: Installation) -> None:
    """Make the embedded database ready, once, and keep its server: `dagster dev` has no other process that does."""
    from neurigraph_pipelines.wiring.installation import Installation

    if installation.settings.database.url is None and installation.home not in _kept:
        kept = Installation(installation.settings)
        kept.migrate()
        _kept[installation.home] = kept
