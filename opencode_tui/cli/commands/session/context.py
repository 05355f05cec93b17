"""The work of `session compact|ledger|prune|restore`."""

import os
import sys
from collections.abc import Sequence

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.schema.api.context import CompactionReport, CompactSession, LedgerChange, LedgerView, PruneReport
from opencode_tui.schema.model import require_model_ref
from opencode_tui.text.ledger import KINDS, omitted_words, state_of, summary_of
from opencode_tui.text.quantity import amount, money, plural
from opencode_tui.text.safe_text import make_safe


def compact_session(session_id: str, *, model: str | None, dry_run: bool, style: str) -> None:
    """Summarize the older messages of a session, or preview that."""
    wanted = require_model_ref(model, "--model") if model else None

    async def work(client: Client) -> CompactionReport:
        info = await choose_session(client, session_id)
        return await client.context.compact(info.id, CompactSession(model=wanted, dry_run=dry_run))

    report = with_client(work, doing="Reading the session" if dry_run else "Summarizing older messages")
    if style == "json":
        print_json(report.to_dict())
    else:
        say(_line(report))
        if report.after is None and report.kept:
            sys.stdout.writelines(make_safe(line) + "\n" for line in report.kept.splitlines())


def _line(report: CompactionReport) -> str:
    what = f"{plural(report.messages, 'message')} of {report.session_id}, about {amount(report.before)} tokens"
    if report.after is None:
        return f"would summarize {what} with {report.model}; kept verbatim:"
    return (
        f"{report.model} summarized {what}: now {amount(report.after)}, cost {money(report.cost)}; nothing was deleted"
    )


def show_ledger(session_id: str, changes: Sequence[LedgerChange], *, style: str) -> None:
    """Change what a compaction of a session keeps word for word, and print it."""

    async def work(client: Client) -> LedgerView:
        info = await choose_session(client, session_id)
        for change in changes:
            await client.context.change_ledger(info.id, change)
        return await client.context.ledger(info.id)

    view = with_client(work, doing="Reading the session")
    if style == "json":
        print_json(view.to_dict())
        return
    say(f"{view.session_id}: {summary_of(view)}")
    rows = [
        [one.id, KINDS[one.kind].lower(), state_of(one, is_compacted=view.is_compacted), " ".join(one.text.split())]
        for one in view.entries
    ]
    rows += [[one.id, KINDS[one.kind].lower(), "removed", ""] for one in view.removed]
    if rows:
        look = style_of(sys.stdout, os.environ)
        sys.stdout.write(render_table(["ENTRY", "KIND", "STATE", "TEXT"], rows, look, whole=["ENTRY"]) + "\n")
    if left := omitted_words(view):
        say(left)


def prune_session(session_id: str, part_ids: Sequence[str], *, dry_run: bool, style: str) -> None:
    """Prune old tool output from the context, or preview that."""

    async def work(client: Client) -> PruneReport:
        info = await choose_session(client, session_id)
        return await client.context.prune(info.id, list(part_ids) or None, dry_run=dry_run)

    report = with_client(work, doing="Looking at the outputs")
    nothing = f"nothing to prune in {report.session_id}: older output is too small; use --part ID to prune a call"
    after = f"the model can read them with recall; undo with `opencode-tui session restore {report.session_id}`"
    _report(report, words=("would prune" if dry_run else "pruned", nothing, "" if dry_run else after), style=style)


def restore_session(session_id: str, part_ids: Sequence[str], *, dry_run: bool, style: str) -> None:
    """Restore pruned tool output, or preview that."""

    async def work(client: Client) -> PruneReport:
        info = await choose_session(client, session_id)
        return await client.context.restore(info.id, list(part_ids) or None, dry_run=dry_run)

    report = with_client(work, doing="Looking at the outputs")
    nothing = f"no pruned output in {report.session_id}"
    _report(report, words=("would restore" if dry_run else "restored", nothing, ""), style=style)


def _report(report: PruneReport, *, words: tuple[str, str, str], style: str) -> None:
    did, nothing, after = words
    if style == "json":
        print_json(report.to_dict())
        return
    if not report.parts:
        say(nothing)
        return
    look = style_of(sys.stdout, os.environ)
    rows = [[part.part_id, part.tool, part.title, amount(part.tokens)] for part in report.parts]
    table = render_table(["ID", "TOOL", "TITLE", "TOKENS"], rows, look, numbers=["TOKENS"], whole=["ID"])
    sys.stdout.write(table + "\n")
    say(
        f"{did} {plural(len(report.parts), 'output')}, about {amount(report.tokens)} tokens"
        + (f"; {after}" if after else "")
    )
