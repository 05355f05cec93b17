"""The checklist of changes, and what it leads to: a commit, a branch, a push, a pull request, comments for the agent."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.conversation.tools import FullText
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel
from opencode_tui.tui.diff.checklist import Checklist, Comment, as_prompt
from opencode_tui.tui.keys.keyed import cancels, confirms

if TYPE_CHECKING:
    from opencode_tui.schema.api.review import GitReport, PublishPlan, PullRequest, TreeChanges

_SHOWN = 6
"""Commits that the question before a push names."""

_ID = 8
"""Characters of a commit's ID that are shown."""


_KEPT: "WeakKeyDictionary[Chat, Checklist]" = WeakKeyDictionary()
"""The checklist of a chat with its marks and comments, for the next time that it is opened."""


@action("changes_view", loads="the changes")
async def open_changes(chat: Chat) -> None:
    """Open the checklist of the changes of the work tree, or what a review of commits has just filled.

    Where everything is committed, the question whether to push follows at once, if there is something to push.
    """
    kept = _KEPT.pop(chat, None)
    if kept is not None and kept.is_committed:
        _show(chat, kept)
        return
    changes = await chat.control.client.review.changes()
    if not changes.files:
        await _ask_push_of_all(chat)
        return
    session_id = chat.control.session_id
    diffs: Sequence[FileDiff] = () if session_id is None else await chat.control.client.sessions.diff(session_id)
    checklist = _with_changes(kept, changes)
    checklist.own = frozenset(one.file for one in diffs)
    _KEPT[chat] = checklist
    _show(chat, checklist)


def _with_changes(kept: Checklist | None, changes: "TreeChanges") -> Checklist:
    """Return the checklist of the work tree: the one that there is, with the changes as they are now, or a new one."""
    if kept is None or kept.is_committed:
        return Checklist(changes)
    kept.read_again(changes)
    return kept


@action("review_start", with_words=True)
async def start_review(chat: Chat, words: str = "") -> None:
    """Let the model review the work tree, or what the words name; the checklist that is opened next has its findings.

    Words that name no commits are for the prompt of the same name.
    """
    from opencode_tui.client.findings import find_problems  # for this alone
    from opencode_tui.schema.api.review import TreeChanges

    client, session_id, name = chat.control.client, chat.control.session_id, words.strip()
    try:
        changes = await client.review.named(name)
    except ConfigError:
        if not name:
            raise
        # a pull request, or in words
        await chat.sender.command("review", name, stored=lambda _: None, given=lambda: None)
        return
    left_out = f"; left out: {', '.join(changes.left_out)}" if changes.left_out else ""
    chat.show_note("note", "Reviewing", screen_line(f"{changes.name}{left_out}"))
    choice = chat.control.choice
    found = await find_problems(client, changes, model=choice.model, variant=choice.variant, parent_id=session_id)
    comments = [Comment(one.file, one.line, one.text, severity=one.severity) for one in found.findings]
    if found.head is None:
        _KEPT[chat] = _with_changes(_KEPT.get(chat), await client.review.changes())
        _KEPT[chat].comments += comments
    else:
        tree = TreeChanges(problem="", hooks=[], files=changes.files)
        _KEPT[chat] = Checklist(tree, name=found.name, comments=comments)
    key = chat.keymap.first("changes_view")
    chat.show_note("done", f"Review: {plural(len(comments), 'finding')}", f"{key} shows them" if comments else "")


def _show(chat: Chat, checklist: Checklist) -> None:
    from opencode_tui.tui.pages.review import ReviewScreen

    chat.open_page(ReviewScreen(chat.control, checklist, partial(_act, chat, checklist)))


def _act(chat: Chat, checklist: Checklist, what: str, comment: Comment | None) -> None:
    match what:
        case "commit":
            _ask_message(chat, checklist)
        case "branch":
            _ask_branch(chat, checklist)
        case "push":
            chat.do(_ask_push(chat))
        case "send":
            _send(chat, checklist, comment)
        case _:
            raise ValueError(what)


def _send(chat: Chat, checklist: Checklist, comment: Comment | None) -> None:
    """Write a comment, or all of them, into the prompt, behind what is there."""
    sent = checklist.comments if comment is None else [comment]
    editor = chat.prompt.editor
    before = f"{editor.text}\n\n" if editor.text.strip() else ""
    editor.put(before + as_prompt(sent))
    checklist.comments = [one for one in checklist.comments if one not in sent]


def _back(chat: Chat, checklist: Checklist) -> None:
    chat.panels.close()
    chat.load_page("Loading the changes", _again(chat, checklist))


async def _again(chat: Chat, checklist: Checklist) -> None:
    """Open the checklist with the changes as they are now."""
    checklist.read_again(await chat.control.client.review.changes())
    _show(chat, checklist)


def _ask_message(chat: Chat, checklist: Checklist) -> None:
    """Ask for the message of the commit; the model proposes one while none is written."""
    marked = checklist.marked_ids
    if not marked or checklist.changes.problem:
        why = checklist.changes.problem or "mark pieces with space, then commit"
        chat.show_note("note", "Nothing to commit", screen_line(why))
        _show(chat, checklist)
        return
    hooks = checklist.changes.hooks
    facts = f"runs {', '.join(hooks)}" if hooks else ""
    ask = TextAsk(
        f"Commit {plural(len(marked), 'piece')}: message", "commit", text=checklist.message, hint=facts, escape="back"
    )

    def leave() -> None:
        checklist.message = panel.editor.text
        _back(chat, checklist)

    def commit(message: str) -> None:
        checklist.message = message
        if message:
            chat.do(_commit(chat, checklist, message))
        else:
            _show_empty(chat, "message")

    panel = TextPanel(ask, done=commit, back=leave)
    chat.panels.open(panel)
    if not checklist.message:
        chat.do(_propose(chat, panel, marked))


def _show_empty(chat: Chat, what: str) -> None:
    """Say why enter does nothing yet."""
    chat.show_note("note", f"The {what} is empty", "type one")


async def _propose(chat: Chat, panel: TextPanel, marked: list[str]) -> None:
    from opencode_tui.schema.api.review import CommitMarked  # with the first checklist

    chat.show_note("note", "The model writes a message", "type your own at any time")
    try:
        found = await chat.control.client.review.propose_message(
            CommitMarked(hunks=marked, message=""), session_id=chat.control.session_id
        )
    except OpencodeError as error:
        chat.show_note("failed", "No message by the model", screen_line(" ".join(str(error).split())))
        return
    if panel.is_attached and not panel.editor.text and found:
        panel.editor.put(found)
    chat.clear_note()


async def _commit(chat: Chat, checklist: Checklist, message: str) -> None:
    """Commit; when git refuses, its whole output is shown and the message stays in the panel."""
    from opencode_tui.schema.api.review import CommitMarked  # with the first checklist

    request = CommitMarked(hunks=checklist.marked_ids, message=message)
    with chat.waiting("Committing"):
        report = await chat.control.client.review.commit(request)
    if not report.is_done:
        chat.open_text(FullText("Commit failed, nothing is changed", report.output or "git printed no reason"))
        return
    chat.panels.close()
    subject = message.splitlines()[0]
    facts = f"{(report.commit or '')[:_ID]} {screen_line(subject)}"
    chat.show_note("done", "Committed", f"{facts} · {screen_line(report.warning)}" if report.warning else facts)
    checklist.message = ""


def _ask_branch(chat: Chat, checklist: Checklist) -> None:
    def create(name: str) -> None:
        if name:
            chat.do(_branch(chat, checklist, name))
        else:
            _show_empty(chat, "name")

    ask = TextAsk("New branch: name", "create and switch", hint="files and staged changes stay")
    chat.panels.open(TextPanel(ask, done=create, back=lambda: _back(chat, checklist)))


async def _branch(chat: Chat, checklist: Checklist, name: str) -> None:
    from opencode_tui.schema.api.review import NewBranch  # with the first checklist

    made = await chat.control.client.review.create_branch(NewBranch(name=name))
    chat.show_note("done", "Switched to", screen_line(made))
    _back(chat, checklist)


async def _ask_push_of_all(chat: Chat) -> None:
    """Ask whether to push where nothing is left to commit; say that there are no changes where nothing can be pushed."""
    try:
        plan = await chat.control.client.review.plan_push()
    except OpencodeError:  # no remote, no branch, or git does not answer: a push that the user asks for says which
        plan = None
    if plan is not None and plan.commits:
        _show_push(chat, plan, before="Everything is committed. ")
    else:
        chat.show_note("note", "No changes", "since the last commit")


async def _ask_push(chat: Chat) -> None:
    _show_push(chat, await chat.control.client.review.plan_push())


def _show_push(chat: Chat, plan: "PublishPlan", *, before: str = "") -> None:
    more = len(plan.commits) - _SHOWN
    about = [f"  {subject}" for subject in plan.commits[:_SHOWN]]
    about += [f"  and {plural(more, 'more commit')}"] if more > 0 else []
    title = f"{before}Push {plural(len(plan.commits), 'commit')} of {plan.branch} to {plan.remote}?"
    sentence = f"{plan.url}{' does not have this branch yet.' if plan.is_new else ''}"
    answers = (confirms("push", lambda: chat.do(_push(chat, plan))), cancels("cancel", chat.panels.close))
    chat.panels.open(ConfirmPanel(Confirmation(title, about, sentence, answers)))


async def _push(chat: Chat, plan: "PublishPlan") -> None:
    chat.panels.close()
    with chat.waiting("Pushing"):
        report = await chat.control.client.review.push()
    if not report.is_done:
        chat.open_text(FullText("Push failed", report.output or "git printed no reason"))
        return
    if not plan.tool:
        chat.show_note("done", "Pushed", screen_line(report.url or plan.url))
        return
    title = f"Pushed. Open a pull request for {plan.branch} with {plan.tool}?"
    answers = (confirms("write its title", lambda: _ask_title(chat, plan)), cancels("no", chat.panels.close))
    chat.panels.open(ConfirmPanel(Confirmation(title, (), screen_line(report.url), answers, is_asked_for=False)))


def _ask_title(chat: Chat, plan: "PublishPlan") -> None:
    from opencode_tui.schema.api.review import PullRequest  # with the first checklist

    first = plan.commits[-1] if plan.commits else ""
    body = "\n".join(f"- {subject}" for subject in reversed(plan.commits)) if len(plan.commits) > 1 else ""

    def create(title: str) -> None:
        if title:
            chat.do(_request(chat, PullRequest(title=title, body=body)))
        else:
            _show_empty(chat, "title")

    ask = TextAsk("Pull request: title", "open it", text=first, escape="cancel")
    chat.panels.open(TextPanel(ask, done=create, back=chat.panels.close))


async def _request(chat: Chat, wanted: "PullRequest") -> None:
    with chat.waiting("Opening the pull request"):
        report: GitReport = await chat.control.client.review.open_request(wanted)
    if not report.is_done:
        chat.open_text(FullText("The pull request was not opened", report.output))
        return
    chat.panels.close()
    chat.show_note("done", "Pull request", screen_line(report.url or report.output))
