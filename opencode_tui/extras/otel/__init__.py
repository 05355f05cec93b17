"""Traces and metrics for OpenTelemetry; see README.md."""
