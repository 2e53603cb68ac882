"""Starts the traces of a process, where the settings name a collector. ``measuring`` says which steps are traced."""

from __future__ import annotations

import neurigraph_pipelines
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.settings.operation import TelemetrySettings


def trace_this_process(telemetry: TelemetrySettings) -> None:
    """Trace this process, if the settings name a collector.

    Raises:
        ConfigurationError: OpenTelemetry is not installed.
    """
    if telemetry.otlp_endpoint is None or telemetry.disabled:
        return
    try:
        from resources.tracing import trace_process
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set and OpenTelemetry is not installed: install neurigraph[telemetry]"
        ) from error
    headers = telemetry.otlp_headers
    trace_process(
        telemetry.otlp_endpoint,
        headers.get_secret_value() if headers is not None else None,
        telemetry.service_name,
        neurigraph_pipelines.__version__,
    )
