"""Causes that sentences state in closed forms: "X because Y", "X. That is why Y", "X led to Y", "X depends on Y".

English, with the plainest forms of German, Spanish and French. Every expression is linear. What is linked is decided in
``knowledge``; the offline model makes facts of the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_SIDE = 240
"""Most characters of one side."""

_WORDS = r"[^.;!?\n]"
_CAUSE_FOLLOWS = re.compile(
    r"[,\s]+(?:(?:just|only|mainly|mostly|partly|also|precisely|simply)\s)?(?P<cue>because(?:\sof)?|due\sto|owing\sto|"
    r"thanks\sto|as\sa\s(?:result|consequence)\sof|on\saccount\sof|(?:was|were|is|are|been)\scaused\sby|"
    r"so\sthat(?=\s\w+\s(?:can|could|will|would|does|do|is|are|has|have|gets?)\b)|"
    r"weil|porque|parce\sque)\b[\s,]*",
    re.I,
)
_SINCE = re.compile(r",\s(?P<cue>since|as)\s(?=(?:the|a|an|my|our|his|her|their|it|he|she|they|we|i|there|[A-Z]\w+)\b)")
_CAUSE_FIRST = re.compile(
    r"(?P<cue>because(?:\sof)?|since|due\sto|owing\sto|thanks\sto|as\sa\s(?:result|consequence)\sof)\s"
    rf"(?P<cause>{_WORDS}{{3,{MAX_SIDE}}}?),\s(?:so\s)?(?P<effect>{_WORDS}{{3,{MAX_SIDE}}})",
    re.I,
)
_ALONE = re.compile(rf"(?:that['’]s\s|it['’]s\s)?(?P<cue>because(?:\sof)?)\s(?P<cause>{_WORDS}{{3,{MAX_SIDE}}})", re.I)
_EFFECT_FOLLOWS = re.compile(
    r"[,\s]+(?P<cue>(?:has\s|have\s)?(?:led|leads|lead)\sto|(?:has\s|have\s)?(?:resulted|results)\sin|which\sis\swhy|"
    r"and\s(?:that\sis|that['’]s)\swhy|(?:and\s)?(?:therefore|consequently|as\sa\sresult)|führte\szu|llevó\sa|a\sconduit\sà)\b[\s,]*",
    re.I,
)
_SO = re.compile(
    r",\s(?:and\s)?(?P<cue>so)\s(?!(?:\w+\s(?:can|could|would|might)\b|far|much|many|that|long|on|to\sspeak|do|did|does|am|is|was)\b)(?=[A-Za-z])"
)
_OPENS = re.compile(
    r"(?P<cue>(?:that\sis|that['’]s|this\sis|which\sis)\s(?:the\sreason\s)?why|therefore|consequently|as\sa\s(?:result|consequence)|"
    r"because\sof\s(?:that|this)|for\s(?:that|this)\sreason|hence|thus|so(?=,?\s(?:i|we|he|she|they|it|the|my|our|[A-Z]\w+)\b)|"
    r"deshalb|deswegen|por\seso|c['’]est\spourquoi)\b(?!\sof\b)[\s,]*",
    re.I,
)
_LEADS_ON = re.compile(r"(?:that|this|which)\s(?P<cue>(?:has\s)?(?:led\sto|resulted\sin|caused|meant\sthat))\s", re.I)
_REASON = re.compile(
    r"(?:the\s(?:(?:main|only|real)\s)?(?:reason|cause)\s(?:was|is|were)(?:\sthat)?|it\s(?:all\s)?(?:goes|went)\sback\sto|"
    r"(?:that|this|it)\s(?:was|is)\s(?:caused\sby|due\sto|because(?:\sof)?))\s",
    re.I,
)
_EXAMPLE = re.compile(r"(?:for example|for instance|zum beispiel|por ejemplo|par exemple)\b[\s,]*", re.I)
_PART = re.compile(
    r"\s(?P<cue>is\spart\sof|are\spart\sof|ist\steil\svon|sind\steil\svon|es\sparte\sde|fait\spartie\sde)\s",
    re.I,
)
_DEPENDS = re.compile(r"\s(?P<cue>depends?\son|relies\son|rely\son|rests?\son)\s", re.I)
_OF_PHRASES = re.compile(r"\b(?:of|to|by|in|on)$")
"""Ends of cues that a noun follows, or stands before."""

_PERFECT = re.compile(r"\b(?:have|has|['’]ve|['’]s)\s(?:\w+\s)?(?:been|\w+ed|had|got|become|gone|done)\b", re.I)
_POINTS = re.compile(
    r"(?:the|that|this|these|those|my|our|his|her|their)\s(?:[\w-]+|(?:[\w-]+\s){0,2}"
    r"(?:choice|decision|idea|change|move|plan|problem|incident|experience)s?)",
    re.I,
)
_ASKS_OR_DOUBTS = re.compile(
    r"\?|\b(?:if|whether|maybe|perhaps|might|would\shave|not\sbecause|isn['’]t\sbecause)\b", re.I
)
_TIME = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|last\s|january|february|march|april|may\b|june|july|august|"
    r"september|october|november|december|then\b|\d|i\swas\b|(?:i|we|you)\slast\b|the\sbeginning)",
    re.I,
)


_PERSON = r"(?:I|we|[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+)?)"
_PEOPLE = rf"(?P<who>{_PERSON}(?:(?:,\s|,?\sand\s){_PERSON}){{0,4}})"
_DECIDED = re.compile(
    rf"(?:^|[\s,;:]){_PEOPLE}\s(?:(?:have|has|had|both|all|finally|just|then|together)\s){{0,2}}"
    r"(?:decided?|agreed|chose|opted|settled\son|made\s(?:a|the|this|that)\s(?:final\s)?decision|voted)\b"
    r"(?P<what>\s(?:that|this|it|so)\b(?=\s(?:with|together|yesterday|today|last)|$))?"
)
_DECIDED_WITH = re.compile(
    r"\b(?:decided?|agreed|chose|settled|decision)\b[^.;]{0,60}?\s(?:together\s)?with\s" + _PEOPLE + r"(?=[\s.,;]|$)"
)
_DECIDED_BY = re.compile(
    rf"\b(?:was|were|been|is)\s(?:decided|chosen|approved|made)\s(?:\w+\s)?by\s{_PEOPLE}(?=[\s.,;]|$)"
)
_JOINED = re.compile(r",\s|,?\sand\s")


@dataclass(frozen=True, slots=True)
class Decided:
    """Who decided something, as a sentence states it.

    Attributes:
        who: Names, ``I`` and ``we``.
        is_of_before: Whether the sentence before says what.
    """

    who: tuple[str, ...]
    is_of_before: bool


def decided_by(sentence: str) -> Decided | None:
    """Return who made the decision in a sentence; None if it states no decision."""
    if _ASKS_OR_DOUBTS.search(sentence):
        return None
    found = [pattern.search(sentence) for pattern in (_DECIDED, _DECIDED_WITH, _DECIDED_BY)]
    who = [name for match in found if match for name in _JOINED.split(match["who"])]
    is_of_before = found[0] is not None and found[0]["what"] is not None
    return Decided(tuple(dict.fromkeys(who)), is_of_before) if who else None


@dataclass(frozen=True, slots=True)
class Cause:
    """A relation that a sentence states, or two sentences together.

    Attributes:
        effect: Where the link starts: the effect, the part, the example, or what depends on the other.
        cause: The words of where it ends.
        relation: ``caused_by``, ``influenced_by``, ``depends_on``, ``part_of`` or ``instance_of``.
        cue: The words that say so.
        spans_sentences: Whether one side is the sentence before.
    """

    effect: str
    cause: str
    relation: str
    cue: str
    spans_sentences: bool = False

    @property
    def is_phrase(self) -> bool:
        """Whether the cause is a noun with its modifiers, and no clause."""
        return _OF_PHRASES.search(self.cue) is not None


def causes_of(sentence: str, before: str = "") -> Iterator[Cause]:
    """Yield the relations in a sentence, or between it and the sentence before it."""
    said = sentence.strip().rstrip(".!")
    if not said or len(said) > 2 * MAX_SIDE or _ASKS_OR_DOUBTS.search(said):
        return
    if (found := _with_before(said, before.strip().rstrip(".!"))) is not None:
        yield found
        said = said[opened.end() :] if (opened := _OPENS.match(said)) else ""
    if said and (inside := _within(said)) is not None:
        yield inside
    for pattern, relation in ((_PART, "part_of"), (_DEPENDS, "depends_on")):
        if match := pattern.search(said):
            yield Cause(_side(said[: match.start()]), _side(said[match.end() :]), relation, match["cue"].lower())


def refers_back(cause: str) -> bool:
    """Whether a noun only points at something that was told before: "the drums", "the JWT choice"."""
    return _POINTS.fullmatch(cause.strip()) is not None


def without_opening(sentence: str) -> str | None:
    """Return the effect that follows "Therefore", "That is why" or "So"; None if a sentence does not begin so."""
    match = _OPENS.match(sentence)
    rest = sentence[match.end() :].strip() if match else ""
    return rest[:1].upper() + rest[1:] if len(rest.split()) > 2 else None


def reason_alone(sentence: str) -> str | None:
    """Return the reason of a sentence that has nothing else, such as the reply "Because it rains."."""
    if _CAUSE_FIRST.match(sentence.strip().rstrip(".!")) or _ASKS_OR_DOUBTS.search(sentence):
        return None
    said = sentence.strip().rstrip(".!")
    if match := _ALONE.fullmatch(said):
        return match["cause"]
    opened = _REASON.match(said)
    return said[opened.end() :][:MAX_SIDE] if opened and len(said) > opened.end() + 2 else None


def _with_before(said: str, before: str) -> Cause | None:
    """Return the relation between a sentence and the one before it."""
    if not before or before.endswith("?"):
        return None
    if (match := _LEADS_ON.match(said)) is not None:
        return Cause(said, before, "caused_by", match["cue"].lower(), True)
    if (match := _EXAMPLE.match(said)) is not None:
        return Cause(said[match.end() :], before, "instance_of", match[0].strip(" ,").lower(), True)
    if (match := _OPENS.match(said)) is not None:
        return Cause(said[match.end() :], before, "caused_by", match["cue"].lower(), True)
    if (reason := reason_alone(said)) is not None:
        relation = "influenced_by" if "back to" in said.lower() else "caused_by"
        return Cause(before, reason, relation, said[: len(said) - len(reason)].strip().lower(), True)
    return None


def _within(said: str) -> Cause | None:
    """Return the cause that a sentence states by itself."""
    if (match := _CAUSE_FIRST.match(said)) is not None:
        if match["cue"].lower() == "since" and (_PERFECT.search(match["effect"]) or _TIME.match(match["cause"])):
            return None
        return Cause(match["effect"], match["cause"], "caused_by", match["cue"].lower())
    for pattern, is_cause_behind in ((_CAUSE_FOLLOWS, True), (_EFFECT_FOLLOWS, False), (_SINCE, True), (_SO, False)):
        match = pattern.search(said)
        if match is None:
            continue
        first, second = _side(said[: match.start()]), _side(said[match.end() :])
        if pattern is _SINCE and (_PERFECT.search(first) or _TIME.match(second)):
            continue
        if len(first.split()) < 2 or not second:
            continue
        effect, cause = (first, second) if is_cause_behind else (second, first)
        return Cause(effect, cause, "caused_by", match["cue"].lower())
    return None


def _side(text: str) -> str:
    return text.strip(" ,;:–—-")[:MAX_SIDE]
