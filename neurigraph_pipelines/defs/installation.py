"""The installation as a Dagster resource: opened for a run or a tick, closed after it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import PrivateAttr

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.settings import Settings

if TYPE_CHECKING:
    from neurigraph_pipelines.wiring import Installation


class InstallationResource(dg.ConfigurableResource["InstallationResource"]):
    """Adapters and settings of the installation that the environment describes."""

    _installation: Installation | None = PrivateAttr(default=None)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator[InstallationResource, None, None]:
        """Open for one run or tick; what that takes is not loaded before."""
        from neurigraph_pipelines.wiring import Installation

        with Installation() as installation:
            self._installation = installation
            yield self

    @property
    def context(self) -> Context:
        """Settings and adapters for domain functions."""
        return self.opened.context

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.opened.settings

    @property
    def opened(self) -> Installation:
        """The open installation."""
        if self._installation is None:
            raise dg.DagsterInvariantViolationError("the installation is open only during a run or a tick")
        return self._installation
