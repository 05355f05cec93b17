"""Names whose values are secrets, as settings, options, variables and fields of records have them.

How long a name is, and what else has such names, differs: `max_tokens` is a setting without a secret, `TOKEN` a variable with one.
The patterns are texts, and compiled at their first use: most runs ask for names of variables only.
"""

import re
from functools import cache

_OPTION = r"key|token|secret|password|authorization|credential"
_SETTING = (r"(?:api|access|secret|private|auth|client)[-_]?(?:key|token|secret)|^(?:key|token|secret|password)$|password|"
            r"authorization|credential|bearer")  # fmt: skip
_FIELD = (r"(?:.*[_\-.])?(?:password|passwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key|private[_\-]?key|credentials?|"
          r"authorization|cookie)")  # fmt: skip
_VARIABLE = (
    r"(?:^|.*_)(?:API_?KEYS?|APIKEY|ACCESS_KEY(?:_ID)?|PRIVATE_KEY|SIGNING_KEY|ENCRYPTION_KEY|MASTER_KEY|TOKEN|PAT|PASSWORD|PASSWD|PASS|"
    r"PASSPHRASE|CREDENTIALS?|.*SECRET.*)(?:_(?:\d+|BASE64|B64|JSON))?|(?:AWS|BEDROCK)_.*|PGPASSWORD|MYSQL_PWD|NPM_CONFIG_.*AUTH.*"
)
_PLAIN_VARIABLES = frozenset({"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE", "AWS_PAGER", "AWS_DEFAULT_OUTPUT"})


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def is_secret_setting(name: str) -> bool:
    """Return whether a member of the settings holds a secret."""
    return _compiled(_SETTING).search(name) is not None


def is_secret_option(name: str) -> bool:
    """Return whether an option of a provider or a program, or a header, holds a secret: its name contains such a word."""
    return _compiled(_OPTION).search(name) is not None


def is_secret_flag(word: str) -> bool:
    """Return whether the word after this one, an option of a program, is a secret: it ends with such a word."""
    return word.startswith("-") and _compiled(f".*(?:{_OPTION})").fullmatch(word) is not None


def is_secret_variable(name: str) -> bool:
    """Return whether an environment variable holds a secret."""
    return _compiled(_VARIABLE).fullmatch(name) is not None and name not in _PLAIN_VARIABLES


def is_secret_field(name: str) -> bool:
    """Return whether a field of a record of a session, such as an argument of a tool, holds a secret."""
    return _compiled(_FIELD).fullmatch(name) is not None
