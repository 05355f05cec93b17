"""`debug config`: the settings in force and how they came about."""

import click

from opencode_tui.cli.environment import load_settings, read_environment
from opencode_tui.cli.terminal import print_json


@click.command()
def config() -> None:
    """Print {config, sources, warnings, ignored, extensions}; secrets are covered."""
    from opencode_tui.config.redact import redact_settings  # with the settings: not for the help

    loaded = load_settings(read_environment())
    print_json(
        {
            "config": redact_settings(loaded.effective),
            "sources": loaded.sources,
            "warnings": [notice.to_dict() for notice in loaded.warnings],
            "ignored": [notice.to_dict() for notice in loaded.ignored],
            "extensions": [
                {"kind": one.kind, "path": str(one.path), "origin": one.origin} for one in loaded.extensions
            ],
        }
    )
