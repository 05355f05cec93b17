"""Pure: the results of MCP tools, prompts and resources as texts and attachments."""

import json
from contextlib import suppress
from typing import Any, cast

from msgspec import Struct

from opencode_tui.engine.mcp.lists import clean
from opencode_tui.engine.tool.files.media_type import as_it_is
from opencode_tui.schema.json_text import decode_foreign
from opencode_tui.schema.record import JsonObject


class Content(Struct, frozen=True):
    """The text of a result, and its pictures and the like as file parts without ids."""

    text: str
    attachments: list[JsonObject]


def read_result(result: JsonObject) -> Content:
    """Return the content of a tool's result, with its structured data unless a text of it says the same."""
    content = read_blocks(result.get("content"))
    given = result.get("structuredContent")
    if given is None or any(_is_same(text, given) for text in [content.text, *_texts_of(result.get("content"))]):
        return content
    data = json.dumps(clean(given), ensure_ascii=False, indent=1)
    return Content(f"{content.text}\n\n{data}" if content.text else data, content.attachments)


def _texts_of(blocks: Any) -> list[str]:
    members = cast("list[JsonObject]", blocks) if isinstance(blocks, list) else []
    return [str(one.get("text")) for one in members if one.get("type") == "text"]


def _is_same(text: str, data: Any) -> bool:
    """Return whether a text is these data as JSON, or their only value."""
    with suppress(ValueError):
        if decode_foreign(text.encode("utf-8", "replace")) == data:
            return True
    values = list(cast("JsonObject", data).values()) if isinstance(data, dict) else []
    return len(values) == 1 and (
        text == str(values[0]) or (isinstance(values[0], list | dict) and _is_same(text, values[0]))
    )


def read_blocks(blocks: Any) -> Content:
    """Return the content of blocks: texts joined by a blank line; resources and links as text with their address."""
    texts: list[str] = []
    files: list[JsonObject] = []
    for block in cast("list[JsonObject]", blocks) if isinstance(blocks, list) else []:
        match block.get("type"):
            case "text":
                texts.append(str(clean(block.get("text", ""))))
            case "image" | "audio":
                files.append(_file(str(block.get("mimeType")), str(block.get("data")), str(block["type"])))
            case "resource":
                inner = read_contents([block.get("resource") or {}])
                texts.append(inner.text)
                files += inner.attachments
            case "resource_link":
                about = block.get("description") or block.get("title") or block.get("name") or ""
                texts.append(str(clean(f"Resource {block.get('uri')}: {about}")))
            case _:
                texts.append(f"(content of the kind {clean(str(block.get('type')))} is not supported)")
    return Content("\n\n".join(text for text in texts if text), files)


def read_contents(contents: Any) -> Content:
    """Return the contents of a resource."""
    texts: list[str] = []
    files: list[JsonObject] = []
    for one in cast("list[JsonObject]", contents) if isinstance(contents, list) else []:
        uri, mime = str(clean(str(one.get("uri")))), str(one.get("mimeType") or "text/plain")
        if "text" in one:
            texts.append(f"Resource {uri}:\n{clean(str(one['text']))}")
        elif mime.startswith(("image/", "audio/")) or mime == "application/pdf":
            files.append(_file(mime, str(one.get("blob")), uri.rpartition("/")[2] or uri))
        else:
            texts.append(f"Resource {uri}: {mime}, {len(str(one.get('blob'))) * 3 // 4} bytes, not text")
    return Content("\n\n".join(texts), files)


def _file(mime: str, data: str, name: str) -> JsonObject:
    mime, url = as_it_is(mime, f"data:{mime};base64,{data}")
    return {"type": "file", "mime": mime, "filename": name, "url": url}
