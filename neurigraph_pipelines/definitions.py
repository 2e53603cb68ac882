"""The definitions that ``workspace.yaml`` and ``dg`` load: all that Dagster finds in the folder ``defs``."""

from pathlib import Path

import dagster as dg

from neurigraph_pipelines.defs.shared.asset_labels import labelled

defs = labelled(dg.load_from_defs_folder(path_within_project=Path(__file__).parent))
