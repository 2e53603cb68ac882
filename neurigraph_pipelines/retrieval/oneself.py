"""Questions of people about themselves, answered from the facts about the owner of the graph that hold.

"Where do I live?" is answered in any language that has a form here, whatever the language of what was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from neurigraph_pipelines.graph.roles import roles_of
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.retrieval.about import MOST_FACTS, Place, Told, day_of, is_plain, place_of, told_with
from neurigraph_pipelines.retrieval.passages import STATED_CHARACTERS, ReadMessage, owner_named, stated
from neurigraph_pipelines.retrieval.profile import own_facts, owner_names, people_of
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.views.facts import Fact
from neurigraph_pipelines.views.kinds import FactKind

_ABOUT_ASKER = re.compile(
    r"\W*(?:(?:please )?tell me (?:all|everything|something|what you know|more) (?:you know )?about (?:me|myself)|"
    r"what (?:do|can|did) you (?:know|remember|tell me)(?: about)? (?:me|myself)|"
    r"what (?:is|have you) (?:known|stored) about me|"
    r"who am i|describe me|was weißt du (?:alles )?(?:über|von) mi[cr]h?|wer bin ich|"
    r"erzähl\w* mir (?:alles )?über mich|"
    r"(?:qué|que) sabes (?:de|sobre) mí|(?:quién|quien) soy(?: yo)?|qui suis-je|que sais-tu (?:de|sur) moi|"
    r"(?:che )?cosa sai di me|chi sono(?: io)?|wie ben ik|wat weet (?:je|jij) (?:over|van) mij|quem sou(?: eu)?|"
    r"o que (?:você )?sabes? (?:de|sobre) mim)\W*",
    re.I,
)
_NOW = r"(?: (?:now|currently|jetzt|gerade|eigentlich|derzeit))?"
_FORMS = [
    (
        re.compile(rf"\W*(?:{form}){_NOW}\W*", re.I),
        re.compile(predicates),
    )
    for form, predicates in (
        (
            r"(?:where|(?:in )?(?:which|what) (?:city|town|country)) do (?:i|we) live(?: in)?|"
            r"where is (?:my|our) home|wo (?:wohne|lebe) ich|wo (?:wohnen|leben) wir|"
            r"in welche[rm] \w+ (?:wohne|lebe) ich",
            r"lives in|moved to|resides in",
        ),
        (
            r"what(?:['’]s| is) my (?:job|profession|occupation|work)|what do i do(?: for (?:a living|work))?|"
            r"what do i work as|was (?:ist|war) mein (?:beruf|job)|was bin ich von beruf|als was arbeite ich|"
            r"was arbeite ich|was mache ich beruflich",
            r"works as|is(?=\san?\s(?!vegetarian|vegan|member|fan|mother|father|man|woman))",
        ),
        (
            r"where do i work|who do i work for|(?:what|who)(?:['’]s| is) my (?:employer|company)|"
            r"(?:wo|bei wem|für wen) arbeite ich|wer ist mein arbeitgeber",
            r"works (?:at|for|as)|joined|is(?=\san?\s.* (?:at|for)\s)",
        ),
        (
            r"what am i allergic to|(?:do i have|have i got) (?:an(?:y)? )?allerg(?:y|ies)|"
            r"what allerg(?:y|ies) do i have|"
            r"(?:which|what are my) allergies(?: do i have)?|(?:wogegen|worauf|gegen was) bin ich allergisch|"
            r"habe ich (?:eine )?allergien?|welche allergien? habe ich",
            r"allergic to|reacts to",
        ),
        (
            r"what (?:can(?:not|['’]t)|may|should)(?: i)?(?: not)? (?:i )?(?:not )?eat|"
            r"was (?:darf|kann) ich nicht essen",
            r"cannot eat|allergic to",
        ),
        (
            r"what do i (?:like|love|prefer)|what are my preferences|was (?:mag|bevorzuge) ich|was habe ich gern",
            r"likes|loves|prefers",
        ),
        (r"when(?:['’]s| is) my birthday|wann habe ich geburtstag|wann ist mein geburtstag", r"birthday|was born"),
        (r"do (?:i|we) have (?:any )?(?:children|kids)|habe ich kinder", r"has(?=.*\b(?:kid|child|son|daughter|Kind))"),
    )
]
"""Each form of a question with a pattern of the predicates of its answers; some patterns look at the object, too."""


_NAMES = re.compile(r"['’]s (?:(?:first|full|last|middle|real) )?name is |is called |heißt ", re.I)
_THEIRS, _WORD = re.compile(r"['’]s\b"), re.compile(r"[\w-]+")
_CONDITIONS = re.compile(
    r"(?:has (?!(?:an?|the|to|no|some|been|one|two|three|many|\d+|\w+(?:ed|en))\b)|suffers from |lives with |"
    r"is (?:an? )?(?:diabetic|deaf|blind|pregnant|vegan|vegetarian|coeliac|celiac|asthmatic|epileptic))",
    re.I,
)
"""What a fact says of its subject that is their name, or how they are for long."""


def told_of_owner(context: Context, question: Question) -> Told:
    """Return the facts that hold about the owner of the graph, if the question is of the owner about themselves.

    Return nothing for other questions, for callers who do not act for the owner, and for questions with filters.
    """
    if not context.claims.acts_for_owner or not is_plain(question):
        return Told()
    is_all = _ABOUT_ASKER.fullmatch(question.query) is not None
    forms = [answers for form, answers in _FORMS if form.fullmatch(question.query)]
    if not is_all and not forms:
        return Told()
    return enriched("facts", lambda: _told(context, forms, is_all=is_all), Told)


def _told(context: Context, forms: Sequence[re.Pattern[str]], *, is_all: bool) -> Told:
    facts = own_facts(context, about_others=is_all)
    if not is_all:
        facts = [one for one in facts if any(form.match(f"{one.predicate} {one.object}") for form in forms)]
    latest = sorted(facts, key=lambda one: (one.said_at, str(one.fact_id)), reverse=True)
    found = _who(context, latest) if is_all else [_stated(one) for one in latest]
    told = told_with(context, found[:MOST_FACTS], is_all=is_all, yields=True)
    if is_all:
        return told
    read = {place_of(one): one for one in owner_named(context, told.passages.values())}
    return replace(
        told, statements=[(_worded(text, read[rests[0]]), rests) for text, rests in told.statements if rests]
    )


def _who(context: Context, facts: Sequence[Fact]) -> list[tuple[str, list[Place]]]:
    """Return who the owner is: name, people, home, work, health and preferences, and then the rest, in this order.

    Args:
        facts: The latest first, as within each of these.
    """
    own = owner_names(context)
    begins = re.compile(rf"(?:{'|'.join(map(re.escape, own))})(?!\w)\s?", re.IGNORECASE)
    told = [(_rank(one, begins), _stated(one)) for one in facts]
    known = " ".join(text for rank, (text, _) in told if rank == _PEOPLE)
    for one in people_of(context):
        if one.record_id is not None and one.text.partition(":")[0] not in known:
            told.append((_PEOPLE, (one.text, [(one.record_id, one.first_message)])))
    return [said for _, said in sorted(told, key=lambda one: one[0])]


_NAME, _PEOPLE, _FORMED = range(3)
"""Ranks of facts about somebody: the forms of questions follow, in their order."""


def _rank(one: Fact, begins: re.Pattern[str]) -> int:
    said = begins.sub("", one.statement, count=1)
    if _NAMES.match(said):
        return _NAME
    is_of_other = one.subject is not None and begins.match(one.subject) is None
    telling = _WORD.findall(said) if is_of_other else _WORD.findall(said)[1:3] if _THEIRS.match(said) else ()
    if one.kind is FactKind.RELATION or roles_of(telling):
        return _PEOPLE
    formed = (number for number, (_, answers) in enumerate(_FORMS) if answers.match(f"{one.predicate} {one.object}"))
    is_lasting = one.kind is FactKind.PREFERENCE or _CONDITIONS.match(said) is not None
    return _FORMED + next(formed, len(_FORMS) + (not is_lasting))


def _stated(one: Fact) -> tuple[str, list[Place]]:
    return f"{day_of(one.said_at)}: {one.statement}", [(one.record_id, one.first_message)]


def _worded(text: str, passage: ReadMessage) -> str:
    """Return the words of a short message in place of a fact that was read from it."""
    is_short = passage.message is not None and len(passage.text) <= STATED_CHARACTERS
    return stated([passage], 1).text if is_short else text
