"""A hook of mkdocs: the site has the pictures of `assets/`, to which the pages link as `../assets/NAME`."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_PICTURES = Path(__file__).parents[1] / "assets"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add each picture to the files of the site, as `assets/NAME`."""
    for picture in sorted(_PICTURES.iterdir()):
        files.append(File.generated(config, f"assets/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the text of a page with its links to pictures as they are in the site."""
    return markdown.replace("](../assets/", "](assets/")
