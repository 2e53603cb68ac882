"""The resources of all runs and ticks, and how runs execute."""

import dagster as dg

from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.sections import SECTIONS
from neurigraph_pipelines.defs.shared.step_values import KEY, step_values


@dg.definitions
def resources() -> dg.Definitions:
    """Return the installation with its sections, and the keeper of the values of steps."""
    sections = {name: section.configure_at_launch() for name, section in SECTIONS.items()}
    return dg.Definitions(
        # Values that steps hand on hold words of users: Dagster stores none of them. With `mem_io_manager`, it would
        # refuse to go on at a step after others, even if these hand nothing on.
        resources={
            **sections,
            "installation": InstallationResource(**sections),
            "io_manager": step_values,
            KEY: step_values,
        },
        executor=dg.in_process_executor,
    )
