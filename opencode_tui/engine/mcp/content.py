"""Pure: the results of MCP tools, prompts and resources as texts and attachments."""

import json
from typing import Any, cast

from msgspec import Struct

from opencode_tui.engine.mcp.lists import clean
from opencode_tui.engine.tool.files.media_type import as_it_is
from opencode_tui.schema.record import JsonObject


class Content(Struct, frozen=True):
    """The text of a result, and its pictures and the like as file parts without ids."""

    text: str
    attachments: list[JsonObject]


def read_result(result: JsonObject) -> Content:
    """Return the content of a tool's result; structured data count only where there is no text."""
    content = read_blocks(result.get("content"))
    if not content.text and result.get("structuredContent") is not None:
        data = json.dumps(clean(result["structuredContent"]), ensure_ascii=False, indent=1)
        return Content(data, content.attachments)
    return content


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
