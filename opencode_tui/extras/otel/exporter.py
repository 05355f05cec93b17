"""Sends spans and metrics by OTLP over HTTP, on threads of the library; the standard variables (`OTEL_…`) say where.

A collector that does not answer costs nothing but its spans: the first failure is logged, and a close waits two seconds for it.
"""

import logging
from collections.abc import Mapping

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from opencode_tui import __version__
from opencode_tui.engine.services.telemetry import Telemetry, TelemetryMaker
from opencode_tui.extras.otel.spans import Spans

NAME = "opencode-tui"
TIMEOUT_S = 2.0
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that adds texts to spans. Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/."""

_ENDPOINT = "http://localhost:4318"
_YES = ("true", "1", "span_only", "span_and_event")

logger = logging.getLogger(__name__)


class _OwnLog(logging.Handler):
    """Logs the first failure of the library with ours, so that it does not write over the screen."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._is_reported = False

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record of the library; later ones have no effect."""
        if not self._is_reported:
            self._is_reported = True
            logger.warning("the collector cannot be used: %s", record.getMessage())


def _make(environ: Mapping[str, str]) -> Telemetry:
    library = logging.getLogger("opentelemetry")
    library.handlers = [_OwnLog()]
    library.propagate = False
    resource = Resource.create(
        {"service.name": environ.get("OTEL_SERVICE_NAME") or NAME, "service.version": __version__}
    )
    headers = _headers(environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""))
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    sender = OTLPSpanExporter(endpoint=_address(environ, "traces"), headers=headers, timeout=TIMEOUT_S)
    traces.add_span_processor(BatchSpanProcessor(sender, export_timeout_millis=TIMEOUT_S * 1000))
    measures = OTLPMetricExporter(endpoint=_address(environ, "metrics"), headers=headers, timeout=TIMEOUT_S)
    reader = PeriodicExportingMetricReader(measures, export_timeout_millis=TIMEOUT_S * 1000)
    metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    spans = Spans(
        traces.get_tracer(NAME, __version__),
        metrics.get_meter(NAME, __version__),
        has_content=environ.get(CONTENT, "").lower() in _YES,
    )

    def close() -> None:
        spans.close()
        traces.shutdown()
        metrics.shutdown(timeout_millis=TIMEOUT_S * 1000)

    return Telemetry(spans.handle, close)


def _address(environ: Mapping[str, str], signal: str) -> str:
    own = environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT")
    return own or f"{(environ.get('OTEL_EXPORTER_OTLP_ENDPOINT') or _ENDPOINT).rstrip('/')}/v1/{signal}"


def _headers(text: str) -> dict[str, str]:
    pairs = (one.partition("=") for one in text.split(","))
    return {name.strip().lower(): value.strip() for name, sign, value in pairs if sign and name.strip()}


make_telemetry: TelemetryMaker = _make
