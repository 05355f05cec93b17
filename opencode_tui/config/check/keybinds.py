"""Actions that keys can be bound to, and bindings that take a key away from sending, stopping or typing.

Source: reference, section 38.
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ACTIONS = _names(
    """
    leader app_exit editor_open theme_list sidebar_toggle scrollbar_toggle username_toggle status_view session_export session_new
    session_list session_timeline session_fork session_rename session_delete stash_delete model_provider_list
    model_favorite_toggle session_share session_unshare session_interrupt session_compact session_child_cycle
    session_child_cycle_reverse session_parent messages_page_up messages_page_down messages_line_up messages_line_down
    messages_half_page_up messages_half_page_down messages_first messages_last messages_next messages_previous messages_last_user
    messages_copy messages_undo messages_redo messages_toggle_conceal tool_details model_list model_cycle_recent
    model_cycle_recent_reverse model_cycle_favorite model_cycle_favorite_reverse command_list agent_list agent_cycle
    agent_cycle_reverse variant_cycle input_clear input_paste input_submit input_newline input_move_left input_move_right
    input_move_up input_move_down input_select_left input_select_right input_select_up input_select_down input_line_home
    input_line_end input_select_line_home input_select_line_end input_visual_line_home input_visual_line_end
    input_select_visual_line_home input_select_visual_line_end input_buffer_home input_buffer_end input_select_buffer_home
    input_select_buffer_end input_delete_line input_delete_to_line_end input_delete_to_line_start input_backspace input_delete
    input_undo input_redo input_word_forward input_word_backward input_select_word_forward input_select_word_backward
    input_delete_word_forward input_delete_word_backward history_previous history_next terminal_suspend terminal_title_toggle
    tips_toggle display_thinking context_view diff_view help_view attachment_open messages_focus prompt_queue_edit prompt_stash
    prompt_stash_pop trust_view
    """
)
"""Actions that keys can be bound to; ours beside OpenCode's: `leader`, and from `context_view` on."""

UNSUPPORTED_ACTIONS = _names(
    """
    scrollbar_toggle username_toggle stash_delete model_provider_list model_favorite_toggle session_share session_unshare
    messages_toggle_conceal model_cycle_favorite model_cycle_favorite_reverse tips_toggle
    """
)
"""Those of OpenCode's actions that are no act here: what they are about is not there."""

_RESERVED = {
    "enter": ("input_submit",),
    "return": ("input_submit",),
    "ctrl+c": ("app_exit", "input_clear"),
    "escape": ("session_interrupt",),
    "esc": ("session_interrupt",),
}
"""Keys that a person relies on, and the actions that may have them."""


def find_captured_keys(action: str, binding: str) -> list[str]:
    """Return the keys of a binding that this action would take away: from sending, stopping, or plain typing."""
    keys = [key.strip().lower() for key in binding.split(",")]
    return [key for key in keys if (key in _RESERVED and action not in _RESERVED[key]) or _is_typed(key, action)]


def _is_typed(key: str, action: str) -> bool:
    return (len(key) == 1 or key in ("space", "backspace")) and not action.startswith("input_")
