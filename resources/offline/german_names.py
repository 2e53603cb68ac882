"""Names in German text, where every noun has a capital.

A noun is common if an article, a possessive or a number stands before it anywhere in the segment, or if its ending or
its length says so. A name shows by a title or a relative before it, by a second capitalised word beside it, or by a
verb or a preposition that an ordinary noun seldom has beside it without an article.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import Stemmer

from resources.offline.kin_words import TITLES, singular
from resources.offline.lexicon import english, forms, lexicon_of
from resources.offline.prose import Prose
from resources.offline.written_names import TITLE

_FORMS = forms("german_names")

GERMAN = "de"
LONGEST_NAME = 13
"""Letters of a single word from which it is taken for a compound noun."""

_RELATIVE = "|".join(sorted(TITLES))
_VERB = "will|kann|muss|soll|wird|kommt|kam|geht|ging|sagte?|meinte?|bringt|fährt|wohnt"
_BE_OR_HAVE = "hat|hatte|ist|war"
_WORD = r"[A-ZÄÖÜ][\wäöüß-]+"
_SHOWN = re.compile(
    rf"(?:{TITLE}\s|\b(?i:{_RELATIVE})\s|\b(?:nach|aus|in|bei|von|{_VERB})\s)(?P<after>{_WORD})(?!\s[A-ZÄÖÜ])"
    rf"|\b(?:{_BE_OR_HAVE})\s(?P<inverted>{_WORD})\s(?:ja|schon|auch|doch|noch|dann|wieder|mal|jetzt|nicht)\b"
    rf"|(?:^|[.!?:,]\s|\bund\s)(?P<subject>{_WORD})\s(?:{_VERB}|{_BE_OR_HAVE}|[a-zäöüß]{{3,}}(?:t|te))\b"
)


class GermanNouns:
    """What the German sentences of a segment say about their capitalised words."""

    def __init__(self, prose: Prose) -> None:
        """Read every German sentence."""
        self._stem = Stemmer.Stemmer("german").stemWord
        self._common: set[str] = set()
        self._shown: set[str] = set()
        for sentence in prose.sentences:
            if sentence.language != GERMAN:
                continue
            self._common.update(
                self._stem(match["noun"].lower()) for match in _FORMS.determined.finditer(sentence.text)
            )
            shown = (
                match["after"] or match["inverted"] or match["subject"] for match in _SHOWN.finditer(sentence.text)
            )
            self._shown.update(shown)

    def is_common(self, word: str) -> bool:
        """Whether a word is an ordinary noun, as far as the segment shows."""
        lower = word.lower()
        if lower in english().first_names:
            return False
        if singular(lower):
            return True
        is_long = len(word) > LONGEST_NAME and "-" not in word
        return (
            bool(_FORMS.ending.fullmatch(lower))
            or is_long
            or lower in lexicon_of(GERMAN).stop
            or self._stem(lower) in self._common
        )

    def may_be_name(self, words: Sequence[str], *, titled: bool) -> bool:
        """Whether capitalised words in a row are a name."""
        if titled:
            return True
        common = [self.is_common(word) for word in words]
        if len(words) > 1:
            return not common[-1] or not common[0]
        return not common[0] and (words[0] in self._shown or words[0].lower() in english().first_names)
