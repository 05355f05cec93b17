from opencode_tui.engine.session.step.doom import call_key, calls_of_turn, is_doom_loop
from tests.support.rows import each
from tests.support.sessions.records import assistant, call, user


@each(
    ("calls", "verdict"),
    [
        ("aa", False),
        ("aaa", True),
        ("abaa", False),
        ("baaa", True),
        ("ababa", False),
        ("ababab", True),
        ("abcabcabc", True),
        ("xabcdabcdabcd", True),
        ("abcdabcdabc", False),
        ("abcdeabcdeabcde", False),
        ("aabaab", False),
        ("aabaabaab", True),
        ("", False),
    ],
)
def test_the_third_round_of_a_short_cycle_is_a_loop(calls, verdict):
    assert is_doom_loop([(letter, "{}") for letter in calls]) is verdict


def test_reads_of_a_background_command_are_a_loop_later():
    read = ("bash_output", "{}")
    assert not is_doom_loop([read] * 11) and is_doom_loop([read] * 12)


def test_equal_inputs_are_equal_whatever_their_order():
    assert call_key("read", {"a": 1, "b": [2]}) == call_key("read", {"b": [2], "a": 1})
    assert call_key("read", {"a": 1}) != call_key("read", {"a": "1"})


def test_calls_count_over_all_messages_of_the_turn_and_none_before_it():
    messages = [user("a"), assistant(call("c0")), user("b"), assistant(call("c1"), call("c2", status="pending"))]
    messages.append(assistant(call("c3", status="error")))
    assert calls_of_turn(messages, 2) == [call_key("read", {"filePath": "a"})] * 2
