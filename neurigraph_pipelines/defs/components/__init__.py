"""Components of Dagster: assets that one YAML file makes of a few attributes (docs/uploads.md)."""

from neurigraph_pipelines.defs.components.export_source import ExportSource

__all__ = ["ExportSource"]
