"""What the stream of Anthropic's messages says."""

from typing import Any

from opencode_tui.engine.provider.decode.anthropic_messages import AnthropicMessagesDecoder
from opencode_tui.engine.provider.decode.delta import WireDelta, WireSearch


def test_the_results_of_a_search_that_come_twice_are_one_search() -> None:
    found = [{"type": "web_search_result", "title": "A", "url": "https://a.example"}]
    block: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}
    decoder, deltas = AnthropicMessagesDecoder(), list[WireDelta]()
    for index in (0, 1):
        decoder.read_event({"type": "content_block_start", "index": index, "content_block": block}, deltas)
        decoder.read_event({"type": "content_block_stop", "index": index}, deltas)
    searches = [one for one in deltas if isinstance(one, WireSearch)]
    assert [one.pages for one in searches] == [[{"title": "A", "url": "https://a.example"}]]
