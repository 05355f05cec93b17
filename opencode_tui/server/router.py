"""Where a module declares its routes."""

from fastapi import APIRouter


def new_router(tag: str, *, prefix: str = "") -> APIRouter:
    """Return an empty list of routes; a body is read as JSON also where the request names no content type."""
    return APIRouter(prefix=prefix, tags=[tag], strict_content_type=False)
