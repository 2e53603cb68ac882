"""Compare what was derived from a conversation with its labels. Pure functions over text.

Names are compared without case, accents and punctuation, and words of facts by their stems.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.derived.labels import Labelled, LabelledQuestion
from neurigraph_pipelines.text.lexemes import lexer_of, name_words

Found = TypeVar("Found")
Label = TypeVar("Label")

MEASURES = (
    "dates P", "dates R", "entities P", "entities R", "relations P", "relations R", "facts", "dependent", "node",
    "area", "quoted", "first", "cited", "declined",
)  # fmt: skip
"""Names of all scores; P is precision, R is recall."""

_PIECE = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'”’)»])\s+|\n+")
_UNFINISHED = re.compile(
    r"(?:\b(?:mrs?|ms|dr|prof|st|no|nr|vs|approx|ca|e\.g|i\.e|z\. ?b|d\. ?h|sra?)|\b[A-Z])\.$", re.I
)
_ORDINAL = re.compile(r"\b\d{1,2}\.$")
_BULLET = re.compile(r"^\s*(?:[-*•–]\s+)+")
_SPEAKER = re.compile(r"^[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,2}: ")
_FIGURE = re.compile(r"[^\w\s]*\d")
_COUNTED_DAY = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
"""Ending of "the 29th", which is the same day as "29 March"."""

_ADDED_DATE = re.compile(r" \((?:(?:\d{1,2} )?[^\W\d_]+ )?\d{4}\)")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_OF = re.compile(r"(?P<whose>.+?)(?:['’]s|(?<=s)['’]) (?P<what>.+)")

_FIRST_PERSON = {
    "english": "i my mine me we our ours us",
    "german": "ich mein meine meiner mir mich wir unser unsere uns",
    "spanish": "yo mi mis nosotros nosotras nuestro nuestra me nos",
}
_LEANING = {
    "english": "you he she it they this that these those your his her hers its their theirs him them "
    "which who whose and but or so because then also plus yet nor",
    "german": "du er sie es ihr dies diese dieser dieses das dein sein seine seiner ihm ihn ihnen "
    "und aber oder denn sondern also dann weil doch deshalb darum",
    "spanish": "tú él ella ello ellos ellas usted ustedes este esta esto estos estas ese esa eso aquel su sus tu tus "
    "lo y e pero o u porque entonces también sino pues luego",
}
"""First words that a sentence of its own does not have: pronouns and conjunctions. German articles are left out."""

_AREAS = ("work business career job", "learning education study", "finances money", "home house household", "legal law")
"""Words for the same area of life."""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    right: int = 0
    of: int = 0

    def __add__(self, other: Share) -> Share:
        """Return both together."""
        return Share(self.right + other.right, self.of + other.of)

    def __str__(self) -> str:
        """Format as a share; a dash if there is nothing to count."""
        return f"{self.right / self.of:.2f}" if self.of else "–"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: its statements in order, and the texts of the messages that it cites. Declined if there are none."""

    statements: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Derived:
    """What was derived from one conversation, over all of its records.

    Attributes:
        paths: The names of each record's node from layer 1 down.
        replies: One for each question, in order.
    """

    dates: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    relationships: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()
    replies: tuple[Reply, ...] = ()


def scores(given: Labelled, derived: Derived) -> dict[str, Share]:
    """Return every score of one conversation, by ``MEASURES``."""
    labels, language = given.labels, given.language

    def related(found: str, label: tuple[str, str, str]) -> bool:
        return relationship_matches(found, label, given.owner, language)

    sentences = [one for summary in derived.summaries for one in sentences_of(summary, language)]
    dates = precision_and_recall(derived.dates, labels.dates, str.__eq__)
    entities = precision_and_recall(derived.entities, labels.entities, name_matches)
    relations = precision_and_recall(derived.relationships, labels.relationships, related)
    held = [holds_fact(sentences, fact.words, language) for fact in labels.facts]
    answered = [(one, reply) for one, reply in zip(labels.questions, derived.replies, strict=True) if one.answers]
    unknown = [reply for one, reply in zip(labels.questions, derived.replies, strict=True) if not one.answers]
    found = [
        *(*dates, *entities, *relations),
        Share(sum(held), len(held)),
        Share(sum(leans(one, language) for one in sentences), len(sentences)),
        Share(sum(is_filed_right(path, labels.node, language) for path in derived.paths), len(derived.paths)),
        Share(sum(is_in_area(path, labels.node, language) for path in derived.paths), len(derived.paths)),
        Share(sum(is_answered(one, reply.statements) for one, reply in answered), len(answered)),
        Share(sum(is_answered(one, reply.statements[:1]) for one, reply in answered), len(answered)),
        Share(sum(is_answered(one, reply.cited) for one, reply in answered), len(answered)),
        Share(sum(not reply.statements for reply in unknown), len(unknown)),
    ]
    return dict(zip(MEASURES, found, strict=True))


def precision_and_recall(
    found: Collection[Found], labels: Collection[Label], matches: Callable[[Found, Label], bool]
) -> tuple[Share, Share]:
    """Return the share of what was found that matches a label, and the share of labels that something matches."""
    right = sum(any(matches(one, label) for label in labels) for one in found)
    met = sum(any(matches(one, label) for one in found) for label in labels)
    return Share(right, len(found)), Share(met, len(labels))


def name_matches(found: str, label: str) -> bool:
    """Return whether two names are equal, or one contains the other as whole words."""
    one, other = name_words(found), name_words(label)
    return _within(one, other) or _within(other, one)


def relationship_matches(found: str, label: tuple[str, str, str], owner: str, language: str) -> bool:
    """Return whether ``descriptor: name`` states the labelled relation.

    The name is the first or the second of the label, and the descriptor holds the relation's words, or the reverse. A
    descriptor such as ``Dave's wife`` must say whose she is, and one without a possessor fits any.
    """
    descriptor, colon, name = found.partition(": ")
    who, relation, whom = label
    is_inverse = not name_matches(name, who)
    if not colon or (is_inverse and not (name_matches(name, whom) and whom.casefold() != owner.casefold())):
        return False
    of = _OF.fullmatch(descriptor)
    what = of["what"] if of else descriptor
    if of and not name_matches(of["whose"], who if is_inverse else whom):
        return False
    # Word by word, so that a sister-in-law is no sister.
    stated, wanted = ([stems for word in one.split() if (stems := _stems(word, language))] for one in (what, relation))
    return bool(wanted) and (_within(wanted, stated) or _within(stated, wanted))


def sentences_of(text: str, language: str) -> list[str]:
    """Return the sentences of a summary, without bullets."""
    found: list[str] = []
    pending = ""
    for piece in _PIECE.split(text):
        pending = f"{pending} {piece}" if pending else piece
        if _UNFINISHED.search(pending) or (language == "german" and _ORDINAL.search(pending)):
            continue
        found.append(_BULLET.sub("", pending).strip())
        pending = ""
    return [one for one in (*found, pending.strip()) if any(map(str.isalnum, one))]


def holds_fact(sentences: Sequence[str], words: Sequence[str], language: str) -> bool:
    """Return whether one sentence holds an alternative of each word, whatever their endings; "29th" is "29"."""
    return any(all(_holds(sentence, word, language) for word in words) for sentence in sentences)


def leans(sentence: str, language: str) -> bool:
    """Return whether a sentence begins with a pronoun, a figure or a conjunction.

    After the name of a speaker (``Ana: I moved``), the first person is understood.
    """
    said = _SPEAKER.sub("", sentence, count=1)
    if _FIGURE.match(said):
        return True
    first = _FIRST_WORD.search(said.casefold())
    leaning = _LEANING[language].split()
    if said == sentence:
        leaning += _FIRST_PERSON[language].split()
    return first is not None and first.group() in leaning


def is_in_area(path: Sequence[str], label: Sequence[str], language: str) -> bool:
    """Return whether a node lies in the labelled area of life."""
    names = (label[0], *(one for one in _AREAS if _alike(label[0], one, "english")))
    return bool(path) and any(_alike(path[0], name, language) for name in names)


def is_filed_right(path: Sequence[str], label: Sequence[str], language: str) -> bool:
    """Return whether a node is the labelled one or a parent of it, the user's root not included."""
    if not is_in_area(path, label, language):
        return False
    return len(path) == 1 or any(_alike(path[-1], name, language) for name in label[1:])


def is_answered(asked: LabelledQuestion, texts: Sequence[str]) -> bool:
    """Return whether every string of the answer stands in the texts."""
    return all(any(stands_in(answer, text) for text in texts) for answer in asked.answers)


def stands_in(alternatives: str, text: str) -> bool:
    """Return whether one of the alternatives stands in a text as whole words; 5 does not stand in 5.50.

    What a quote adds to its dates, as in ``Thursday (5 June 2025) at nine``, does not part the words around it.
    """
    read = (_plain(text), _plain(_ADDED_DATE.sub("", text)))
    patterns = [rf"(?<!\w)(?<!\d[.,]){re.escape(_plain(one))}(?!\w)(?![.,]\d)" for one in alternatives.split("|")]
    return any(re.search(pattern, plain) for pattern in patterns for plain in read)


def shared_titles(titles: Sequence[str]) -> Share:
    """Return how many of the titles are not the only one of their kind."""
    counted = Counter(" ".join(title.casefold().split()) for title in titles)
    return Share(sum(count for count in counted.values() if count > 1), len(titles))


def mistakes(given: Labelled, derived: Derived) -> Iterator[str]:
    """Yield what is wrong and what is missed, a line each."""
    labels, language = given.labels, given.language
    yield from _differences("date", derived.dates, labels.dates, str.__eq__)
    yield from _differences("entity", derived.entities, labels.entities, name_matches)
    yield from _differences(
        "relationship",
        derived.relationships,
        labels.relationships,
        lambda found, label: relationship_matches(found, label, given.owner, language),
    )
    sentences = [one for summary in derived.summaries for one in sentences_of(summary, language)]
    for fact in labels.facts:
        if not holds_fact(sentences, fact.words, language):
            yield f"missed fact: {fact.fact}"
    for path in derived.paths:
        if not is_filed_right(path, labels.node, language):
            yield f"wrong node: {'/'.join(path)}, not {'/'.join(labels.node)}"
    for asked, reply in zip(labels.questions, derived.replies, strict=True):
        if (asked.answers and not is_answered(asked, reply.statements)) or (not asked.answers and reply.statements):
            wanted = ", ".join(asked.answers) or "not known"
            yield f"wrong answer: {asked.question} ({wanted}) {' / '.join(reply.statements) or 'declined'}"


def _differences(
    kind: str, found: Collection[Found], labels: Collection[Label], matches: Callable[[Found, Label], bool]
) -> Iterator[str]:
    for one in found:
        if not any(matches(one, label) for label in labels):
            yield f"wrong {kind}: {one}"
    for label in labels:
        if not any(matches(one, label) for one in found):
            yield f"missed {kind}: {', '.join(label) if isinstance(label, tuple) else label}"


def _holds(sentence: str, alternatives: str, language: str) -> bool:
    stems = set(_stems(_COUNTED_DAY.sub("", sentence), language))
    for one in alternatives.split("|"):
        wanted = _stems(_COUNTED_DAY.sub("", one), language)
        if (wanted and stems.issuperset(wanted)) or (not wanted and stands_in(one, sentence)):
            return True
    return False


def _alike(one: str, other: str, language: str) -> bool:
    """Return whether two names of nodes share a word."""
    return not set(_stems(one, language)).isdisjoint(_stems(other, language)) or name_matches(one, other)


def _within(part: Sequence[object], whole: Sequence[object]) -> bool:
    size = len(part)
    return bool(part) and any(whole[at : at + size] == part for at in range(len(whole) - size + 1))


def _stems(text: str, language: str) -> list[str]:
    return lexer_of(language).lexemes(text)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())
