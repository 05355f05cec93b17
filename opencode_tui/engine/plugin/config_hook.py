"""The hook `config`: plugins may change the settings before anything is made of them."""

from msgspec.structs import replace

from opencode_tui.config.check.types import SettingsCheck
from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.merge import sources_after
from opencode_tui.config.sources.layer import Layer
from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.schema.error import ConfigError


async def change_config(hooks: Hooks, config: LoadedConfig) -> LoadedConfig:
    """Return the settings as the plugins want them; a change that does not fit the settings' types is dropped and named."""
    if not hooks.has("config"):
        return config
    changed = await hooks.run("config", {}, config.effective)
    if changed == config.effective:
        return config
    try:
        settings = SettingsCheck().validate(Layer("plugins", "person", config.worktree, changed))
    except ConfigError as error:
        hooks.refuse("config", str(error))
        return config
    sources = sources_after(config.effective, changed, config.sources, "a plugin")
    return replace(config, settings=settings, effective=changed, sources=sources)
