"""A conversation as Markdown: all that was said and done, and nothing that was only for the model."""

from opencode_tui.text.conversation import to_markdown
from tests.support.sessions.records import assistant, call, image, reasoning, session_info, text, user

REQUEST = user(
    "Look at this.", image(name="screen.png"), text("<system-reminder>rules</system-reminder>", synthetic=True)
)


def test_texts_thoughts_attachments_calls_and_their_errors_are_written_in_order() -> None:
    answer = assistant(
        reasoning("A screen."),
        call("1", "read", given={"filePath": "a.py"}, output="x = 1"),
        call("2", "bash", given={"command": "false"}, output="it failed", status="error"),
        "Done.",
        parent=REQUEST,
    )
    pieces = [
        "# a title",
        "**Session ID:** ses_1",
        "## User",
        "Look at this.",
        "[screen.png]",
        "## Assistant (Build · fake-model · 0.0s)",
        "_Thinking:_\n\nA screen.",
        '**Tool: read**\n\n**Input:**\n```json\n{\n  "filePath": "a.py"\n}\n```\n\n**Output:**\n```\nx = 1\n```',
        '**Tool: bash**\n\n**Input:**\n```json\n{\n  "command": "false"\n}\n```\n\n**Error:**\n```\nit failed\n```',
        "Done.",
    ]
    page = "".join(to_markdown(session_info(), [REQUEST, answer]))
    found = [page.find(piece) for piece in pieces]
    assert -1 not in found and found == sorted(found), page
    assert "iVBOR" not in page and "rules" not in page


def test_an_output_cannot_end_its_fence() -> None:
    answer = assistant(call("1", output="```\n# not a heading\n````"), parent=REQUEST)
    page = "".join(to_markdown(session_info(), [answer]))
    assert "`````\n```\n# not a heading\n````\n`````" in page
