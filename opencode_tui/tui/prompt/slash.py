"""The built-in slash commands: names of actions that also have keys."""

from collections.abc import Container, Mapping

SLASH: Mapping[str, str] = {
    "new": "session_new",
    "clear": "session_new",
    "sessions": "session_list",
    "resume": "session_list",
    "continue": "session_list",
    "search": "session_search",
    "undo": "messages_undo",
    "redo": "messages_redo",
    "fork": "session_fork",
    "compact": "session_compact",
    "summarize": "session_compact",
    "timeline": "session_timeline",
    "context": "context_view",
    "diff": "diff_view",
    "jobs": "background_view",
    "lsp": "language_view",
    "mcp": "mcp_view",
    "mcps": "mcp_view",
    "models": "model_list",
    "model": "model_list",
    "agents": "agent_list",
    "agent": "agent_list",
    "themes": "theme_list",
    "theme": "theme_list",
    "rename": "session_rename",
    "delete": "session_delete",
    "archive": "session_archive",
    "restore": "session_restore",
    "export": "session_export",
    "import": "session_import",
    "share": "session_share",
    "unshare": "session_unshare",
    "copy": "messages_copy",
    "code": "messages_copy_part",
    "open": "file_open",
    "editor": "editor_open",
    "status": "status_view",
    "stash": "prompt_stash",
    "trust": "trust_view",
    "login": "login_view",
    "connect": "login_view",
    "cost": "cost_view",
    "usage": "cost_view",
    "permissions": "permissions_view",
    "config": "config_view",
    "settings": "config_view",
    "doctor": "doctor_view",
    "memory": "memory_edit",
    "history": "history_search",
    "find": "messages_find",
    "thinking": "display_thinking",
    "queue": "prompt_delivery_toggle",
    "vim": "vim_toggle",
    "help": "help_view",
    "exit": "app_exit",
    "quit": "app_exit",
    "q": "app_exit",
}
"""Name to action id; the first name of an action is the one that is suggested."""


def completion_names() -> Mapping[str, str]:
    """Return the names that completion suggests, one per action."""
    first: dict[str, str] = {}
    for name, action_id in SLASH.items():
        first.setdefault(action_id, name)
    return {name: action_id for action_id, name in first.items()}


def parse(text: str, known: Container[str] = ()) -> tuple[str, str] | None:
    """Return the name and the arguments of a command; None for any other text, such as the path `/usr/bin`.

    Only a `known` name may have slashes, as those of commands in subfolders have.
    """
    if not text.startswith("/"):
        return None
    name, _, rest = text[1:].partition(" ")
    name, newline, more = name.partition("\n")
    if not name or ("/" in name and name not in known):
        return None
    return name, (more + " " + rest if newline else rest).strip()
