"""Sign-ins with the browser to providers, and the accounts that are signed in. No value here has a token."""

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Record, absent

USAGE_PAGE = "https://chatgpt.com/settings/usage"
"""Where the user sees the usage of a ChatGPT plan, and limits that of a program.

Source: developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery.
"""


class SignInRequest(Record):
    """A sign-in to begin: of a new account, or again of one that is known; with `is_consent_asked` the consent is asked again."""

    provider_id: str = Field(max_length=200)
    account_id: str | None = absent()
    is_consent_asked: bool | None = absent()


class SignInStarted(Record):
    """A sign-in that waits; `url` is for the browser."""

    id: str
    url: str


class SignInAddress(Record):
    """The whole address that the browser shows at the end."""

    address: str = Field(max_length=65_536)


class SignInDone(Record):
    """The end of a sign-in: a sentence on who signed in, and what to do next.

    `first_use` are the sentences that are said after the first one only.
    """

    words: str
    advice: str | None = absent()
    first_use: list[str] | None = absent()
    may_use_plan: bool = True

    def whole(self) -> str:
        """Return all sentences."""
        words = f"{self.words}; {self.advice}" if self.advice else self.words
        return " ".join([f"{words}.", *self.first_use]) if self.first_use else words


class SignInAccount(Record):
    """An account of ChatGPT. The label never changes; `ended` is why the service ended the sign-in."""

    id: str
    label: str
    is_signed_in: bool
    is_current: bool
    may_use_plan: bool
    ended: str | None = absent()
