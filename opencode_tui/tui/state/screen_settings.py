"""The settings that the screen applies, read from the effective ones; a value of another type counts as not set."""

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct

from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.permission import APPROVALS, Approvals
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.message import Delivery
from opencode_tui.schema.setting_defaults import REST_S, SCROLL_LINES
from opencode_tui.tui.widgets.wheel import Wheel


class ScreenSettings(Struct, frozen=True):
    """The settings of one folder."""

    keybinds: Mapping[str, str] = {}
    """Keys by action."""
    theme: str = ""
    is_ascii: bool = False
    images: str = "auto"
    """How pictures are shown: `auto`, `kitty`, `sixel`, `blocks` or `off`."""
    editor_links: str = ""
    """An editor, or the form of its addresses, for links to files; empty for `file://`."""
    has_tips: bool = True
    """Whether an empty chat shows a tip."""
    is_still: bool = False
    """Whether nothing moves on the screen."""
    uses_vim: bool | None = None
    """Whether the prompt has the keys of vim; None where it is not set."""
    writes_out_pastes: bool = False
    """Whether a long paste is text of the prompt instead of a mark."""
    scroll_lines: float = SCROLL_LINES
    scroll_accelerates: bool = False
    is_stacked: bool = False
    """Whether diffs use one column even where two fit."""
    delivery: Delivery = "steer"
    approvals: Approvals = "normal"
    session_budget: float = 0.0
    """The limit of a session's cost in USD, 0 without one."""
    status_fields: Sequence[str] = ()
    """The fields of the status line; empty for the default."""
    has_status_command: bool = False
    stays_after_hangup: bool = True
    """Whether what runs goes on when the terminal is closed."""
    rest_s: float = REST_S
    """Seconds that the engine waits for a terminal after its last work, once it has none."""
    has_notify_command: bool = False
    looks_for_servers: bool = True
    """Whether the list of models looks for servers of models on this machine."""

    def wheel(self) -> Wheel:
        """Return a wheel with the chosen speed."""
        return Wheel(self.scroll_lines, accelerates=self.scroll_accelerates)


def read_settings(settings: JsonObject) -> ScreenSettings:
    """Return what the effective settings say for the screen."""
    tui, experimental = as_object(settings.get("tui")), as_object(settings.get("experimental"))
    status_line = as_object(tui.get("status_line"))
    budget = as_object(as_object(settings.get("limits")).get("cost")).get("session")
    approvals, theme, speed = experimental.get("approvals"), settings.get("theme"), tui.get("scroll_speed")
    fields = status_line.get("fields")
    background = as_object(settings.get("background"))
    rest = background.get("rest")
    return ScreenSettings(
        keybinds={name: keys for name, keys in as_object(settings.get("keybinds")).items() if isinstance(keys, str)},
        theme=theme if isinstance(theme, str) else "",
        is_ascii=bool(tui.get("ascii")),
        images=str(tui.get("images") or "auto"),
        editor_links=str(tui.get("editor_links") or ""),
        has_tips=tui.get("tips") is not False,
        is_still=bool(tui.get("reduced_motion")),
        uses_vim=bool(tui["vim"]) if "vim" in tui else None,
        writes_out_pastes=bool(experimental.get("disable_paste_summary")),
        scroll_lines=float(speed) if isinstance(speed, int | float) else SCROLL_LINES,
        scroll_accelerates=bool(as_object(tui.get("scroll_acceleration")).get("enabled")),
        is_stacked=tui.get("diff_style") == "stacked",
        delivery="queue" if tui.get("delivery") == "queue" else "steer",
        approvals=APPROVALS[APPROVALS.index(approvals)] if approvals in APPROVALS else "normal",
        session_budget=float(budget) if isinstance(budget, int | float) else 0.0,
        status_fields=tuple(map(str, cast("list[object]", fields))) if isinstance(fields, list) else (),
        has_status_command=bool(status_line.get("command")),
        stays_after_hangup=background.get("hangup") is not False,
        rest_s=float(rest) if isinstance(rest, int) else REST_S,
        has_notify_command=bool(tui.get("notify")),
        looks_for_servers=settings.get("local_models") is not False,
    )
