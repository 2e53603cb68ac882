"""Adapters to the outside world, one a file; the only place that imports vendor SDKs.

Each adapter implements a protocol of ``neurigraph_pipelines.ports``. Adapters do not import each other's SDKs and
hold no domain rules. SDKs that are slow to import are imported inside the methods that need them, because every
Dagster run pays for what is imported at module level.
"""
