"""What `session compact` does."""

import sys

from opencode_tui.cli.door import with_client
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.schema.compaction import CompactionReport, CompactSession
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.model import parse_model_ref
from opencode_tui.text.quantity import amount, money, plural
from opencode_tui.text.safe_text import make_safe


def compact_session(session_id: str, *, model: str | None, dry_run: bool, style: str) -> None:
    """Put a summary in the place of a session's older messages, or say what that would do."""
    wanted = parse_model_ref(model) if model else None
    if model and wanted is None:
        raise ConfigError(f"--model {model!r} is not of the form provider/model; see `opencode-tui models`")

    async def work(client: Client) -> CompactionReport:
        info = await choose_session(client, session_id)
        return await client.context.compact(info.id, CompactSession(model=wanted, dry_run=dry_run))

    report = with_client(work)
    if style == "json":
        print_json(report.to_dict())
    else:
        say(_line(report))
        if report.after is None and report.kept:
            sys.stdout.writelines(make_safe(line) + "\n" for line in report.kept.splitlines())


def _line(report: CompactionReport) -> str:
    what = f"{plural(report.messages, 'message')} of {report.session_id}, about {amount(report.before)} tokens"
    if report.after is None:
        return f"would let {report.model} summarise {what}; these stay word for word:"
    return (
        f"{report.model} summarised {what}: {amount(report.after)} now, for {money(report.cost)}; nothing was deleted"
    )
