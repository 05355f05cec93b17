"""The keys of vim in the prompt."""

from opencode_tui.extras.vim.vim import Vim
from opencode_tui.tui.prompt.vim_keys import VimMaker

make_vim: VimMaker = Vim
