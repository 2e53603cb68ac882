"""Replace e-mail addresses, telephone numbers, payment cards and keys in text by a word.

``phonenumbers`` (Google's libphonenumber) finds telephone numbers; patterns of ``detect-secrets`` (Yelp) and a few more
find keys. No network is used. The domain decides which texts are redacted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache

Span = tuple[int, int]

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[^\W_](?:[\w-]{0,62})\.){1,8}[^\W\d_]{2,63}(?![\w-])")
_CARD = re.compile(r"(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d-]|\.\d)")
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|35\d{14}|6(?:011|5\d\d|4[4-9]\d|2\d\d)\d{12,15}"
)
"""Prefixes and lengths of the large networks' cards."""

_OTHER_KEYS = re.compile(
    r"(?<![\w-])(?:ng_[\w-]{43}(?:[\w-]{22})?|sk-ant-[\w-]{20,200}|sk-(?:proj-|svcacct-)?[\w-]{40,200}"
    r"|github_pat_\w{22,255}|npm_[A-Za-z0-9]{36}|AIza[\w-]{35}|hf_[A-Za-z0-9]{30,40}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
_SET_SECRET = re.compile(
    r"(?:^|(?<=[\s;→]))(?:export )?[A-Z0-9_]{0,60}?(?:SECRET|TOKEN(?!S)|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|"
    r"PRIVATE_KEY)[A-Z0-9_]{0,20}=(?P<quote>[\"']?)(?P<value>[^\s\"'$(){}\[\]]{4,500})(?P=quote)",
    re.MULTILINE,
)
"""A variable of an environment with a secret, as ``.env`` files and shells set it."""

_STATED_PASSWORD = re.compile(
    r"(?<![\w.-])[\w-]{0,40}?(?:password|passwd|passphrase|pwd) ?= ?(?P<quote>[\"']?)"
    r"(?!(?:none|null|nil|true|false|str|bytes|undefined|[\w.-]*(?:pass|pwd|secret|token)[\w.-]*)(?![\w.-]))(?!~?[/\\])"
    r"(?!(?<== )(?:(?:any|every|no|some)thing|another|whatever|that|this|what|your|their|same|like) [a-z])"
    r"(?P<value>[^\s\"'=&,;$(){}\[\]<>][^\s\"'&,;$(){}\[\]<>]{3,499}+)(?P=quote)(?![({\[])",
    re.IGNORECASE,
)
"""A password after its name, as people and programs write it; no name of code such as ``password=get_password``, no
path, as shells call the folder where one works ``PWD``, and no description such as ``something easy``."""

_STATED_KEY = re.compile(
    r"(?<![\w.-])[\w-]{0,40}?(?!(?:secret|token): (?:\d{1,4}[a-z]{0,2}(?:-[a-z]+)+(?![\w-])|\d{4}-\d\d-\d\d))"
    r"(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|(?:access|private)[_-]key)[\"']?"
    r"(?: ?= ?|: ?)(?P<quote>[\"']?)(?!(?:self|cls|os|env|args|config|settings|process)\.)"
    r"(?=[^\s\"']{0,200}?\d)(?=[^\s\"']{0,200}?[A-Za-z])"
    r"(?P<value>[^\s\"'=&,;$(){}\[\]<>/.][^\s\"'&,;$(){}\[\]<>]{7,499})(?P=quote)",
    re.IGNORECASE,
)
"""A key after its name: at least eight characters with a letter and a figure. Sentences have ``secret`` and ``token``,
too: a day after them is no key, and neither is a word such as ``20-minute``."""

_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")


class PatternRedactor:
    """Implements ``ports.Redactor``.

    Args:
        kinds: Any of ``email``, ``phone``, ``card`` and ``key``.
        phone_region: Country whose numbers are found without a country code, such as ``US``; None for no country.
    """

    def __init__(self, kinds: Iterable[str], phone_region: str | None = None) -> None:
        finders: dict[str, Callable[[str], Iterator[Span]]] = {
            "key": _keys,
            "email": _emails,
            "card": _cards,
            "phone": lambda text: _phones(text, phone_region),
        }
        wanted = set(kinds)
        self._finders = {kind: finder for kind, finder in finders.items() if kind in wanted}

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """Return the text with each match replaced by ``[email]`` or the like, and the number of matches by kind.

        Redacting the result again finds nothing.
        """
        counts: Counter[str] = Counter()
        while found := self._found(text):
            parts, end = [], 0
            for (start, stop), kind in found:
                parts += [text[end:start], f"[{kind}]"]
                counts[kind] += 1
                end = stop
            text = "".join([*parts, text[end:]])
        return text, counts

    def _found(self, text: str) -> list[tuple[Span, str]]:
        """Return matches that do not overlap, in order; earlier kinds win."""
        taken = bytearray(len(text))
        found = []
        for kind, finder in self._finders.items():
            for start, stop in finder(text):
                if 1 not in taken[start:stop]:
                    taken[start:stop] = b"\1" * (stop - start)
                    found.append(((start, stop), kind))
        return sorted(found)


def _emails(text: str) -> Iterator[Span]:
    if "@" in text:
        yield from (match.span() for match in _EMAIL.finditer(text))


def _cards(text: str) -> Iterator[Span]:
    for match in _CARD.finditer(text):
        digits = re.sub("[ -]", "", match[0])
        if _ISSUED.fullmatch(digits) and _has_check_digit(digits):
            yield match.span()


def _has_check_digit(digits: str) -> bool:
    """Whether the check digit is correct (Luhn, ISO/IEC 7812-1)."""
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(two // 10 + two % 10 for two in doubled)) % 10 == 0


def _phones(text: str, region: str | None) -> Iterator[Span]:
    import phonenumbers

    for match in phonenumbers.PhoneNumberMatcher(text, region, max_tries=len(text)):
        yield match.start, match.end


def _keys(text: str) -> Iterator[Span]:
    yield from _key_blocks(text)
    yield from (match.span() for match in _OTHER_KEYS.finditer(text))
    for stated in (_SET_SECRET, _STATED_PASSWORD, _STATED_KEY):
        yield from (match.span("value") for match in stated.finditer(text))
    for pattern, group in _known_patterns():
        yield from (match.span(group) for match in pattern.finditer(text))


def _key_blocks(text: str) -> Iterator[Span]:
    """Yield PEM private keys; one without an end marker extends to the end of the text."""
    position = 0
    while begin := _KEY_BEGIN.search(text, position):
        end = _KEY_END.search(text, begin.end())
        position = end.end() if end is not None else len(text)
        yield begin.start(), position


@cache
def _known_patterns() -> tuple[tuple[re.Pattern[str], int], ...]:
    """Return patterns with the group that contains the key; all run in linear time."""
    from detect_secrets.plugins.aws import AWSKeyDetector
    from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
    from detect_secrets.plugins.basic_auth import BasicAuthDetector
    from detect_secrets.plugins.discord import DiscordBotTokenDetector
    from detect_secrets.plugins.github_token import GitHubTokenDetector
    from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
    from detect_secrets.plugins.mailchimp import MailchimpDetector
    from detect_secrets.plugins.pypi_token import PypiTokenDetector
    from detect_secrets.plugins.sendgrid import SendGridDetector
    from detect_secrets.plugins.slack import SlackDetector
    from detect_secrets.plugins.square_oauth import SquareOAuthDetector
    from detect_secrets.plugins.stripe import StripeDetector
    from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
    from detect_secrets.plugins.twilio import TwilioKeyDetector

    among_others = (AWSKeyDetector, BasicAuthDetector)
    alone = (
        AzureStorageKeyDetector,
        DiscordBotTokenDetector,
        GitHubTokenDetector,
        GitLabTokenDetector,
        MailchimpDetector,
        PypiTokenDetector,
        SendGridDetector,
        SlackDetector,
        SquareOAuthDetector,
        StripeDetector,
        TelegramBotTokenDetector,
        TwilioKeyDetector,
    )
    return (
        *((pattern, min(pattern.groups, 1)) for detector in among_others for pattern in detector().denylist),
        *((pattern, 0) for detector in alone for pattern in detector().denylist),
    )
