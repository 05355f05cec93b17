"""All actions that keys can be bound to: one row each, with its name, its default keys, and where it is available.

The screen, the settings and the server derive from these rows what they need: help, the list of commands, slash
commands, checks of conflicts, and the default keys that OpenCode's screen reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass

LEADER = "<leader>"
"""The start of a key that follows the leader key."""

LEADER_KEY = "ctrl+x"
"""The default leader key."""

NONE = "none"
"""Instead of keys: the action has none."""

QUIT = "app_exit"
"""The action that quits; the first of its keys interrupts a run before."""

SESSIONS_PAGE = "list:sessions"
"""The scope of the sessions page, where some actions of the chat have further keys."""

MAIN_SCOPES = frozenset({"app", "chat", "prompt"})
"""Scopes that are there from the start; their actions have OpenCode's names where it has them too."""

TYPED_SCOPES = frozenset({"app", "chat", "completion", "list", "recent"})
"""Scopes in which characters are text, so that the settings cannot bind them; their parts are such scopes too."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action; `name` is its line in help and in the list of commands, `group` its heading there.

    `keys` are the default keys, separated by commas. `scope` is where they work: in the app, the chat, the prompt, on
    an `item` of the focused conversation, on every `page`, in every `list` with a filter and every `panel`, or only in
    one of these, which is named after a colon. `slash` are the names of its slash command; the first one is suggested.
    `on_sessions` are its keys for the selected session of the sessions page. `fact` is said next to its name in the list
    of commands, `needed` what cannot be done without a key for it. OpenCode has the action too unless it `is_ours`:
    `command` is its name there for clients that drive the screen, `their_keys` are the default keys there if they differ,
    `newer` is its name in the settings of OpenCode 2 where that does not follow from the others. `tip` follows its key in a tip.
    `short` is its name in the list of keys after the leader where that has little space. With `on_pages` its keys work on the
    pages over the chat too, unless the page has an action for the key or takes it as text.
    """

    id: str
    name: str
    keys: str = NONE
    scope: str = "chat"
    group: str = "Session"
    slash: str = ""
    on_sessions: str = ""
    is_ours: bool = False
    fact: str = ""
    needed: str = ""
    command: str = ""
    their_keys: str = ""
    newer: str = ""
    tip: str = ""
    short: str = ""
    on_pages: bool = False

    @property
    def is_shared(self) -> bool:
        """Return whether OpenCode has the action under the same name."""
        return not self.is_ours and self.scope in MAIN_SCOPES


ACTIONS: tuple[Action, ...] = (
    Action(QUIT, "Quit", "ctrl+c,ctrl+d,<leader>q", "app", "Program", slash="exit quit q"),
    Action("command_list", "All commands", "ctrl+p", "app", "Program", command="command.list", newer="command.palette.show"),
    Action("help_view", "Keyboard shortcuts", "f1,?", "app", "Program", slash="help", is_ours=True, command="help.show",
           on_pages=True),
    Action("theme_list", "Choose a theme", "<leader>t", "app", "Program", slash="themes theme", command="theme.list",
           newer="theme.switch"),
    Action("status_view", "Status of this folder", "none", "app", "Program", slash="status", their_keys="<leader>s",
           newer="opencode.status"),
    Action("trust_view", "Folder trust", "<leader>w", "chat", "Program", slash="trust", is_ours=True),
    Action("login_view", "Connect a provider (API key)", "none", "chat", "Program", slash="login connect", is_ours=True,
           newer="provider.connect"),
    Action("permissions_view", "Permission rules and grants", "none", "chat", "Program", slash="permissions", is_ours=True),
    Action("config_view", "Settings", "<leader>comma", "chat", "Program", slash="settings config", is_ours=True,
           newer="opencode.settings",
           tip="changes settings; tui.tips switches tips off"),
    Action("doctor_view", "Check the installation", "none", "chat", "Program", slash="doctor", is_ours=True),
    Action("definitions_view", "Agents, commands and skills", "none", "chat", "Program", slash="create skills", is_ours=True),
    Action("memory_edit", "Edit instructions (AGENTS.md)", "none", "chat", "Program", slash="memory", is_ours=True),
    Action("app_background", "Quit; what runs goes on in the background", "none", "chat", "Program",
           slash="background detach", is_ours=True),
    Action("terminal_suspend", "Suspend to shell", "ctrl+z", "app", "Program"),
    Action("sidebar_toggle", "Show or hide the sidebar", "<leader>b", "chat", "Program", newer="session.sidebar.toggle",
           short="Sidebar on or off"),
    Action("session_new", "New session", "<leader>n", slash="new clear", command="session.new"),
    Action("session_browser", "Session picker", "<leader>s", is_ours=True),
    Action("session_list", "Session manager", "<leader>l", slash="sessions resume continue", command="session.list"),
    Action("session_search", "Search all sessions", slash="search", is_ours=True),
    Action("session_interrupt", "Interrupt (press twice)", "escape", needed="interrupt a run", command="session.interrupt"),
    Action("session_compact", "Compact the context", "<leader>c", slash="compact summarize",
           fact="summarizes older messages", command="session.compact"),
    Action("session_rename", "Rename this session", slash="rename", on_sessions="ctrl+r", their_keys="ctrl+r"),
    Action("session_fork", "Fork this session", "<leader>f", slash="fork", on_sessions="ctrl+f",
           fact="original is kept", their_keys="none"),
    Action("session_export", "Export this session", "<leader>x", slash="export", on_sessions="ctrl+e"),
    Action("session_share", "Share this session by a link", slash="share"),
    Action("session_unshare", "Stop sharing this session", slash="unshare"),
    Action("session_timeline", "Timeline", "<leader>g", slash="timeline", command="session.timeline",
           tip="goes back to any turn, or forks from there"),
    Action("context_view", "Context", "<leader>i", slash="context", is_ours=True,
           tip="shows what the next request sends, and its price"),
    Action("ledger_view", "What a compaction keeps", "none", slash="ledger", is_ours=True),
    Action("cost_view", "Cost and tokens of this session", slash="cost usage", is_ours=True),
    Action("diff_view", "Changes", "<leader>d", slash="diff", is_ours=True, newer="diff.open"),
    Action("changes_view", "Review and commit changes", "<leader>h", slash="changes commit", is_ours=True,
           tip="reviews changes: mark, comment, commit, push",
           short="Review and commit"),
    Action("review_start", "Review the changes", slash="review", fact="by the model", is_ours=True),
    Action("running_view", "What runs and waits, in all folders", "<leader>z", slash="running ps", is_ours=True,
           tip="shows what runs and waits in all folders",
           short="What runs and waits"),
    Action("side_ask", "Ask a side question", "ctrl+q", slash="btw side", fact="not part of the session", is_ours=True,
           tip="asks about the session; nothing of it is kept in there"),
    Action("check_set", "Work until a command passes", slash="until", is_ours=True),
    Action("check_run", "Run the check again, without the model", "f5", slash="check", is_ours=True),
    Action("check_send", "Run the check, send its failures to the model", "shift+f5", is_ours=True),
    Action("background_view", "Background commands", slash="jobs", is_ours=True),
    Action("language_view", "Language servers", slash="lsp", is_ours=True),
    Action("mcp_view", "MCP servers", slash="mcp mcps", is_ours=True, newer="mcp.list"),
    Action("plugin_view", "Installed plugins", slash="plugins", is_ours=True),
    Action("session_import", "Import sessions…", slash="import", is_ours=True),
    Action("session_delete", "Move this session to the trash", slash="delete", on_sessions="ctrl+d",
           fact="asks first", their_keys="ctrl+d"),
    Action("session_archive", "Archive this session", slash="archive", on_sessions="ctrl+a", is_ours=True),
    Action("session_pin", "Pin this session", on_sessions="ctrl+p", is_ours=True, newer="session.pin.toggle"),
    Action("session_restore", "Restore the last deleted or archived session", slash="restore", is_ours=True),
    Action("session_child_cycle", "Next subagent session", "<leader>right", newer="session.child.next",
           short="Next subagent"),
    Action("session_child_cycle_reverse", "Previous subagent session", "<leader>left", newer="session.child.previous",
           short="Previous subagent"),
    Action("session_parent", "Parent session", "<leader>up"),
    Action("messages_undo", "Undo the last turn", "<leader>u", slash="undo", fact="with preview", command="session.undo",
           tip="undoes the last turn, with what it changed in files"),
    Action("messages_redo", "Redo", "<leader>r", slash="redo", fact="until you send a message", command="session.redo"),
    Action("messages_copy", "Copy the last response", "<leader>y", "chat", "Chat", slash="copy"),
    Action("messages_copy_part", "Copy a response or code block", "<leader>p", "chat", "Chat", slash="code", is_ours=True,
           short="Copy a code block"),
    Action("file_open", "Open a named file in your editor", "<leader>o", "chat", "Chat", slash="open", is_ours=True,
           short="Open a named file"),
    Action("messages_page_up", "Page up", "pageup,ctrl+alt+b", "chat", "Chat", command="session.page.up"),
    Action("messages_page_down", "Page down", "pagedown,ctrl+alt+f", "chat", "Chat", command="session.page.down"),
    Action("messages_line_up", "Line up", "ctrl+alt+y", "chat", "Chat", command="session.line.up"),
    Action("messages_line_down", "Line down", "ctrl+alt+e", "chat", "Chat", command="session.line.down"),
    Action("messages_half_page_up", "Half a page up", "ctrl+alt+u", "chat", "Chat", command="session.half.page.up"),
    Action("messages_half_page_down", "Half a page down", "ctrl+alt+d", "chat", "Chat", command="session.half.page.down"),
    Action("messages_first", "To the first message", "ctrl+g,home", "chat", "Chat", command="session.first"),
    Action("messages_last", "To the last message", "ctrl+alt+g,end", "chat", "Chat", command="session.last"),
    Action("messages_focus", "Focus the conversation", "ctrl+up", "chat", "Chat", is_ours=True),
    Action("messages_find", "Find in the conversation", "<leader>/", "chat", "Chat", slash="find", is_ours=True,
           short="Find"),
    Action("messages_next", "Next message", "none", "chat", "Chat", newer="session.message.next"),
    Action("messages_previous", "Previous message", "none", "chat", "Chat", newer="session.message.previous"),
    Action("messages_last_user", "Your last message", "none", "chat", "Chat", newer="session.messages_last_user"),
    Action("item_previous", "Previous item", "up,k", "item", "Focused conversation"),
    Action("item_next", "Next item", "down,j", "item", "Focused conversation"),
    Action("item_open", "Open or fold the item", "enter", "item", "Focused conversation"),
    Action("item_unfold", "Open the item", "right,space", "item", "Focused conversation"),
    Action("item_fold", "Fold the item", "left", "item", "Focused conversation"),
    Action("item_copy", "Copy the item", "y", "item", "Focused conversation"),
    Action("item_copy_code", "Copy a code block of the item", "c", "item", "Focused conversation"),
    Action("item_editor", "Open a file of the item in your editor", "o", "item", "Focused conversation"),
    Action("item_revert", "Undo from the item", "u", "item", "Focused conversation"),
    Action("item_fork", "Fork from the item", "f", "item", "Focused conversation"),
    Action("item_restore", "Send the pruned output again", "r", "item", "Focused conversation"),
    Action("item_find", "Find in the conversation", "/", "item", "Focused conversation"),
    Action("item_leave", "Back to the prompt", "escape", "item", "Focused conversation"),
    Action("display_thinking", "Toggle reasoning", "none", "chat", "Chat", slash="thinking", newer="session.toggle.thinking"),
    Action("tool_details", "Expand or collapse tool output", "none", "chat", "Chat"),
    Action("terminal_title_toggle", "Toggle terminal title", "none", "chat", "Program"),
    Action("agent_cycle", "Next agent", "tab", "chat", "Agent and model", command="agent.cycle"),
    Action("agent_cycle_reverse", "Previous agent", "none", "chat", "Agent and model", their_keys="shift+tab"),
    Action("agent_list", "Choose an agent", "<leader>a", "chat", "Agent and model", slash="agents agent", command="agent.list"),
    Action("model_list", "Choose a model", "<leader>m", "chat", "Agent and model", slash="models model", command="model.list"),
    Action("model_cycle_recent", "Next recent model", "f2", "chat", "Agent and model"),
    Action("model_cycle_recent_reverse", "Previous recent model", "shift+f2", "chat", "Agent and model"),
    Action("variant_cycle", "Cycle model variant", "ctrl+t", "chat", "Agent and model"),
    Action("approvals_cycle", "Cycle approvals: ask, normal, auto", "shift+tab", "chat", "Agent and model", is_ours=True,
           tip="asks you more often, or less"),
    Action("approvals_list", "Choose approvals", "none", "chat", "Agent and model", slash="approvals", is_ours=True),
    Action("history_search", "Search earlier prompts", "ctrl+r", "chat", "Prompt", slash="history", is_ours=True,
           tip="finds an earlier prompt"),
    Action("editor_open", "Write the prompt in your editor", "<leader>e", "chat", "Prompt", slash="editor", newer="prompt.editor",
           short="Write in your editor"),
    Action("prompt_stash", "Stash prompt", "none", "chat", "Prompt", slash="stash", is_ours=True),
    Action("prompt_stash_pop", "Restore stashed prompt", "none", "chat", "Prompt", is_ours=True),
    Action("attachment_open", "View attachment", "<leader>v", "chat", "Prompt", is_ours=True, newer="prompt.images.view"),
    Action("prompt_queue_edit", "Edit last queued message", "<leader>k", "chat", "Prompt", is_ours=True,
           short="Edit queued message"),
    Action("prompt_queue_send", "Send queued message now", "<leader>return", "chat", "Prompt", is_ours=True,
           short="Send queued message"),
    Action("prompt_delivery_toggle", "Steer the turn or queue messages", "<leader>j", "chat", "Prompt", "queue", is_ours=True,
           short="Steer or queue"),
    Action("vim_toggle", "Toggle vim mode", "none", "chat", "Prompt", slash="vim", is_ours=True),
    Action("input_submit", "Send", "return", "prompt", "Prompt", needed="send a prompt"),
    Action("input_newline", "New line", "shift+return,ctrl+return,alt+return,ctrl+j", "prompt", "Prompt"),
    Action("input_clear", "Clear the prompt", "ctrl+c", "prompt", "Prompt", newer="prompt.clear"),
    Action("input_paste", "Paste (text or image)", "ctrl+v", "chat", "Prompt", newer="prompt.paste"),
    Action("history_previous", "Earlier prompt", "up", "prompt", "Prompt", newer="prompt.history.previous"),
    Action("history_next", "Later prompt", "down", "prompt", "Prompt", newer="prompt.history.next"),
    Action("input_move_left", "Left", "left,ctrl+b", "prompt", "Editing"),
    Action("input_move_right", "Right", "right,ctrl+f", "prompt", "Editing"),
    Action("input_move_up", "Up", "up", "prompt", "Editing"),
    Action("input_move_down", "Down", "down", "prompt", "Editing"),
    Action("input_select_left", "Select to the left", "shift+left", "prompt", "Editing"),
    Action("input_select_right", "Select to the right", "shift+right", "prompt", "Editing"),
    Action("input_select_up", "Select up", "shift+up", "prompt", "Editing"),
    Action("input_select_down", "Select down", "shift+down", "prompt", "Editing"),
    Action("input_line_home", "Start of the line", "ctrl+a", "prompt", "Editing"),
    Action("input_line_end", "End of the line", "ctrl+e", "prompt", "Editing"),
    Action("input_select_line_home", "Select to the start of the line", "ctrl+shift+a", "prompt", "Editing"),
    Action("input_select_line_end", "Select to the end of the line", "ctrl+shift+e", "prompt", "Editing"),
    Action("input_visual_line_home", "Start of visual line", "alt+a", "prompt", "Editing"),
    Action("input_visual_line_end", "End of visual line", "alt+e", "prompt", "Editing"),
    Action("input_select_visual_line_home", "Select to the start of visual line", "alt+shift+a", "prompt", "Editing"),
    Action("input_select_visual_line_end", "Select to the end of visual line", "alt+shift+e", "prompt", "Editing"),
    Action("input_buffer_home", "Start of the prompt", "home", "prompt", "Editing"),
    Action("input_buffer_end", "End of the prompt", "end", "prompt", "Editing"),
    Action("input_select_buffer_home", "Select to the start", "shift+home", "prompt", "Editing"),
    Action("input_select_buffer_end", "Select to the end", "shift+end", "prompt", "Editing"),
    Action("input_delete_line", "Delete the line", "ctrl+shift+d", "prompt", "Editing"),
    Action("input_delete_to_line_end", "Delete to the end of the line", "ctrl+k", "prompt", "Editing"),
    Action("input_delete_to_line_start", "Delete to the start of the line", "ctrl+u", "prompt", "Editing"),
    Action("input_backspace", "Delete to the left", "backspace,shift+backspace", "prompt", "Editing"),
    Action("input_delete", "Delete to the right", "ctrl+d,delete,shift+delete", "prompt", "Editing"),
    Action("input_undo", "Undo in the prompt", "ctrl+-,super+z", "prompt", "Editing"),
    Action("input_redo", "Redo in the prompt", "ctrl+.,super+shift+z", "prompt", "Editing"),
    Action("input_word_forward", "Next word", "alt+f,alt+right,ctrl+right", "prompt", "Editing"),
    Action("input_word_backward", "Previous word", "alt+b,alt+left,ctrl+left", "prompt", "Editing"),
    Action("input_select_word_forward", "Select the next word", "alt+shift+f,alt+shift+right", "prompt", "Editing"),
    Action("input_select_word_backward", "Select previous word", "alt+shift+b,alt+shift+left", "prompt", "Editing"),
    Action("input_delete_word_forward", "Delete the next word", "alt+d,alt+delete,ctrl+delete", "prompt", "Editing"),
    Action("input_delete_word_backward", "Delete previous word", "ctrl+w,ctrl+backspace,alt+backspace", "prompt", "Editing"),
    Action("completion_up", "Completion above", "up,ctrl+p", "completion", "Completions"),
    Action("completion_down", "Completion below", "down,ctrl+n", "completion", "Completions"),
    Action("completion_insert", "Insert the completion", "tab", "completion", "Completions"),
    Action("completion_send", "Insert the completion, send a command", "enter", "completion", "Completions"),
    Action("completion_close", "Close the completions", "escape", "completion", "Completions"),
    Action("recent_up", "Recent session above", "up", "recent", "Start page"),
    Action("recent_down", "Recent session below", "down", "recent", "Start page"),
    Action("recent_open", "Open the recent session", "enter", "recent", "Start page"),
    Action("recent_leave", "Back to the prompt", "escape", "recent", "Start page"),
    Action("browser_open", "Open the session", "enter", "browser", "Session browser"),
    Action("browser_new", "New session", "n", "browser", "Session browser"),
    Action("browser_rename", "Rename the session", "r", "browser", "Session browser"),
    Action("browser_fork", "Fork the session", "f", "browser", "Session browser"),
    Action("browser_pin", "Pin the session", "p", "browser", "Session browser"),
    Action("browser_archive", "Archive the session", "a", "browser", "Session browser"),
    Action("browser_delete", "Move the session to the trash", "d", "browser", "Session browser"),
    Action("browser_everywhere", "All projects, or this one", "tab", "browser", "Session browser"),
    Action("browser_undo", "Restore the last deleted or archived session", "u", "browser", "Session browser"),
    Action("browser_filter", "Filter by title", "/", "browser", "Session browser"),
    Action("browser_search", "Search the content", "/", "browser", "Session browser"),
    Action("browser_accept", "End the filter", "enter", "browser", "Session browser"),
    Action("browser_leave", "Back to the prompt", "escape", "browser", "Session browser"),
    Action("list_up", "Row above", "up,ctrl+p", "list", "Lists"),
    Action("list_down", "Row below", "down,ctrl+n", "list", "Lists"),
    Action("list_previous", "Page up", "pageup", "list", "Lists"),
    Action("list_next", "Page down", "pagedown", "list", "Lists"),
    Action("list_first", "First row", "home", "list", "Lists"),
    Action("list_last", "Last row", "end", "list", "Lists"),
    Action("list_choose", "Choose the row", "enter", "list", "Lists"),
    Action("list_erase", "Delete the last character of the filter", "backspace", "list", "Lists"),
    Action("list_erase_word", "Delete the last word of the filter", "ctrl+w", "list", "Lists"),
    Action("list_clear", "Clear the filter", "ctrl+u", "list", "Lists"),
    Action("list_close", "Close the list", "escape,ctrl+c", "list", "Lists", needed="close a list"),
    Action("model_favorite_toggle", "Mark the model as favorite", "ctrl+f", "list:models", "List of models"),
    Action("model_provider_list", "Connect a provider", "ctrl+a", "list:models", "List of models"),
    Action("account_sign_out", "Sign the account out", "ctrl+d", "list:accounts", "List of accounts"),
    Action("page_up", "Row or line up", "up,k", "page", "Pages"),
    Action("page_down", "Row or line down", "down,j", "page", "Pages"),
    Action("page_previous", "Page up", "pageup,b", "page", "Pages"),
    Action("page_next", "Page down", "pagedown,space", "page", "Pages"),
    Action("page_first", "To the start", "home,g", "page", "Pages"),
    Action("page_last", "To the end", "end,shift+g", "page", "Pages"),
    Action("page_open", "Open the selected row", "enter", "page", "Pages"),
    Action("page_close", "Close the page", "escape,q,ctrl+c", "page", "Pages", needed="close a page"),
    Action("sessions_mark", "Mark the session", "space", "list:sessions", "Session list"),
    Action("sessions_mark_filtered", "Mark the session, also in a filter", "insert,ctrl+space", "list:sessions", "Session list"),
    Action("sessions_undo", "Undo the last change of sessions", "ctrl+z", "list:sessions", "Session list"),
    Action("sessions_undo_shown", "Undo the change that is shown", "u", "list:sessions", "Session list"),
    Action("sessions_everywhere", "All projects, or this one", "tab", "list:sessions", "Session list"),
    Action("sessions_view", "Archived sessions, then the trash", "ctrl+t", "list:sessions", "Session list"),
    Action("sessions_search", "Search the content", "/", "list:sessions", "Session list"),
    Action("search_order", "By relevance, or newest first", "tab", "list:search", "Search"),
    Action("search_scope", "All projects, or this one", ".", "list:search", "Search"),
    Action("search_edit", "Edit the query", "/", "list:search", "Search"),
    Action("search_up", "Result above", "k", "list:search", "Search"),
    Action("search_down", "Result below", "j", "list:search", "Search"),
    Action("settings_undo", "Undo the last change", "ctrl+z", "list:settings", "Settings"),
    Action("settings_reset", "Remove the value from its file", "ctrl+r", "list:settings", "Settings"),
    Action("settings_edit", "Open the file in your editor", "ctrl+e", "list:settings", "Settings"),
    Action("diff_next", "Next change", "n", "page:diff", "Changes"),
    Action("diff_previous", "Previous change", "p", "page:diff", "Changes"),
    Action("diff_next_file", "Next file", "tab", "page:diff", "Changes"),
    Action("diff_previous_file", "Previous file", "shift+tab", "page:diff", "Changes"),
    Action("diff_columns", "Side by side, or unified", "u", "page:diff", "Changes"),
    Action("diff_open", "Open the file at the shown line in your editor", "o", "page:diff", "Changes"),
    Action("diff_wrap", "Wrap or truncate lines", "w", "page:diff", "Changes"),
    Action("review_mark", "Mark for the commit", "space", "page:review", "Changes to commit"),
    Action("review_mark_all", "Mark everything, or nothing", "a", "page:review", "Changes to commit"),
    Action("review_comment", "Comment on the file, piece or line", "c", "page:review", "Changes to commit"),
    Action("review_delete", "Delete the comment", "x", "page:review", "Changes to commit"),
    Action("review_send", "Write the comments into the prompt", "s", "page:review", "Changes to commit"),
    Action("review_commit", "Commit what is marked", "shift+c", "page:review", "Changes to commit"),
    Action("review_branch", "Create a branch", "n", "page:review", "Changes to commit"),
    Action("review_push", "Push the branch", "p", "page:review", "Changes to commit"),
    Action("review_comment_save", "Save the comment", "enter", "list:review", "Changes to commit"),
    Action("review_comment_cancel", "Cancel the comment", "escape,ctrl+c", "list:review", "Changes to commit"),
    Action("timeline_revert", "Revert to the prompt", "r", "page:timeline", "Timeline"),
    Action("timeline_fork", "Fork from the prompt", "f", "page:timeline", "Timeline"),
    Action("timeline_diff", "Changes of the turn", "d", "page:timeline", "Timeline"),
    Action("timeline_filter", "Filter the prompts", "/", "page:timeline", "Timeline"),
    Action("timeline_bar_left", "To the turn of the bar at the left", "left,h", "page:timeline", "Timeline"),
    Action("timeline_bar_right", "To the turn of the bar at the right", "right,l", "page:timeline", "Timeline"),
    Action("context_prune", "Prune", "p", "page:context", "Context"),
    Action("context_restore", "Restore", "r", "page:context", "Context"),
    Action("context_compact", "Compact", "c", "page:context", "Context"),
    Action("context_sort", "Sort by size or position", "s", "page:context", "Context"),
    Action("context_ledger", "What a compaction keeps", "l", "page:context", "Context"),
    Action("ledger_edit", "Edit the entry", "e", "page:ledger", "What a compaction keeps"),
    Action("ledger_remove", "Remove the entry", "x", "page:ledger", "What a compaction keeps"),
    Action("ledger_restore", "Restore the entry", "r", "page:ledger", "What a compaction keeps"),
    Action("ledger_add", "Add an entry", "a", "page:ledger", "What a compaction keeps"),
    Action("ledger_save", "Save the text", "enter", "list:ledger", "What a compaction keeps"),
    Action("ledger_cancel", "Cancel the text", "escape,ctrl+c", "list:ledger", "What a compaction keeps"),
    Action("running_yes", "Allow what is asked, once", "y", "page:running", "What runs"),
    Action("running_no", "Reject what is asked", "n", "page:running", "What runs"),
    Action("running_stop", "Interrupt the session", "s", "page:running", "What runs"),
    Action("running_stop_all", "Interrupt it and end its background commands", "shift+s", "page:running", "What runs"),
    Action("background_stop", "Stop the command", "x", "page:background", "Background commands"),
    Action("mcp_restart", "Restart the server", "r", "page:mcp", "MCP servers"),
    Action("mcp_off", "Switch the server off", "x", "page:mcp", "MCP servers"),
    Action("plugin_switch", "Switch the plugin off or on", "x", "page:plugins", "Plugins"),
    Action("definition_add", "Add an agent, a command or a skill", "a", "page:definitions", "Agents, commands and skills"),
    Action("definition_edit", "Open its file", "e", "page:definitions", "Agents, commands and skills"),
    Action("mcp_add", "Add a server", "a", "page:mcp", "MCP servers"),
    Action("mcp_edit", "Open the file that sets the server", "e", "page:mcp", "MCP servers"),
    Action("form_next", "Next field", "tab", "list:form", "Forms"),
    Action("form_previous", "Previous field", "shift+tab", "list:form", "Forms"),
    Action("form_switch", "Another choice", "right,left", "list:form", "Forms"),
    Action("form_newline", "New line in a text", "ctrl+j,shift+enter", "list:form", "Forms"),
    Action("form_write", "Write the file", "ctrl+s", "list:form", "Forms"),
    Action("permissions_switch", "Switch the grant on or off", "space", "page:permissions", "Permissions"),
    Action("permissions_edit", "Edit the grant, or open the file of the rule", "e", "page:permissions", "Permissions"),
    Action("permissions_revoke", "Revoke the grant", "x", "page:permissions", "Permissions"),
    Action("language_restart", "Restart the server", "r", "page:languages", "Language servers"),
    Action("import_choose", "Choose the program", "space", "page:import", "Import"),
    Action("import_preview", "Show what would be imported", "d", "page:import", "Import"),
    Action("attachment_expand", "Expand into the prompt", "e", "page:attachment", "Attachment"),
    Action("attachment_view", "Open in your viewer", "o", "page:attachment", "Attachment"),
    Action("attachment_remove", "Remove", "d", "page:attachment", "Attachment"),
    Action("picture_next", "Next picture", "n,right", "page:picture", "Picture"),
    Action("picture_previous", "Previous picture", "p,left", "page:picture", "Picture"),
    Action("picture_view", "Open in your viewer", "o", "page:picture", "Picture"),
    Action("panel_yes", "Confirm", "y", "panel", "Questions"),
    Action("panel_cancel", "Cancel", "escape", "panel", "Questions"),
    Action("panel_up", "Up", "up", "panel", "Questions"),
    Action("panel_down", "Down", "down", "panel", "Questions"),
    Action("notice_close", "Close the message", "enter", "panel:notice", "Questions"),
    Action("away_open", "Open the session", "enter", "panel:away", "While you were away"),
    Action("permission_once", "Allow once", "y", "panel:permission", "Approvals"),
    Action("permission_host", "Allow the host in this project", "h", "panel:permission", "Approvals"),
    Action("permission_always", "Always allow", "a", "panel:permission", "Approvals"),
    Action("permission_edit", "Edit the rule", "e", "panel:permission", "Approvals"),
    Action("permission_reject", "Reject", "n", "panel:permission", "Approvals", needed="reject a call"),
    Action("permission_keep", "Keep the change", "k", "panel:permission", "Approvals"),
    Action("permission_restore", "Remove or restore", "r", "panel:permission", "Approvals"),
    Action("permission_decline", "Do not suggest the rule again", "x", "panel:permission", "Approvals"),
    Action("permission_columns", "Side by side, or one column", "d", "panel:permission", "Approvals"),
    Action("question_choose", "Select or submit", "enter", "panel:question", "Questions of the agent"),
    Action("question_toggle", "Toggle the option", "space", "panel:question", "Questions of the agent"),
    Action("question_write", "Type an answer", "w", "panel:question", "Questions of the agent"),
    Action("question_cancel", "Cancel and stop the turn", "x", "panel:question", "Questions of the agent"),
    Action("plan_build", "Build", "y", "panel:plan", "Plan"),
    Action("plan_keep", "Keep planning", "k", "panel:plan", "Plan"),
    Action("plan_edit", "Edit the plan in your editor", "e", "panel:plan", "Plan"),
    Action("quit_background", "Keep working in the background", "y", "panel:quit", "Questions"),
    Action("quit_stop", "Stop what runs and quit", "s", "panel:quit", "Questions"),
    Action("undo_conversation", "Conversation only", "c", "panel:undo", "Undo"),
    Action("undo_files", "Files only", "f", "panel:undo", "Undo"),
    Action("undo_diff", "Show the diff", "d", "panel:undo", "Undo"),
    Action("memory_project", "Add to those of this project", "y", "panel:memory", "Instructions"),
    Action("memory_everywhere", "Add to those of all projects", "g", "panel:memory", "Instructions"),
    Action("side_again", "Ask again", "enter", "panel:side", "Side question"),
    Action("side_copy", "Copy the answer", "y", "panel:side", "Side question"),
    Action("share_export", "Export instead", "e", "panel:share", "Share"),
    Action("find_start", "Find the text", "enter", "panel:find", "Find"),
    Action("find_next", "Next occurrence", "enter,n,down", "panel:find", "Find"),
    Action("find_previous", "Previous occurrence", "up,shift+n", "panel:find", "Find"),
    Action("find_edit", "Edit the text", "/", "panel:find", "Find"),
)  # fmt: skip
"""In the order of the list of commands and of help within each group; of two actions that are available, the first one."""

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}

DEFAULT_KEYS: Mapping[str, str] = {"leader": LEADER_KEY, **{action.id: action.keys for action in ACTIONS}}
"""Keys by action; a comma separates alternatives."""

SHARED_KEYS: Mapping[str, str] = {
    "leader": LEADER_KEY,
    **{action.id: action.their_keys or action.keys for action in ACTIONS if action.is_shared},
}
"""The default keys of OpenCode's screen for the actions that it has too."""

COMMANDS: Mapping[str, Action] = {action.command: action for action in ACTIONS if action.command}
"""The actions that clients of the server can run on the screen, by OpenCode's names for them."""


def find_newer(name: str) -> Action | None:
    """Return the action that the settings of OpenCode 2 call so, None for one that only its screen has."""
    named = next((action for action in ACTIONS if action.newer == name), None)
    return named or COMMANDS.get(name) or BY_ID.get(name.replace(".", "_"))
