"""The people, projects and other entities that a segment names.

Names are found by capitals, a short list of given names, and the words around a name. ``relations`` finds the relations
between people, ``placement`` decides which names get a node, ``keywords`` which are keywords.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from neurigraph_pipelines.model import Ending, Message, Role
from resources.offline.endings import stated_endings
from resources.offline.lexicon import english, forms
from resources.offline.prose import Prose
from resources.offline.relations import StatedRelation, stated_relations
from resources.offline.runs import Named, Runs

_NO_PROJECT = frozenset(["new", "the", "android", "ios", "school", "mobile", "product"])

_Relations = Mapping[str, Set[tuple[str | None, str]]]
"""By name of a person, the roles that the text states: to whom (None if not said), and which."""
MAX_STATED = 50
"""Most statements of one segment."""

_NAME = r"[A-Z][\w'’-]*\w(?:\s[A-Z][\w'’-]*\w){0,2}"
_BREAK = r"(?:,|\s\(|\s[-–—])?\s?"
_QUOTE = "[\"'“”‘’]?"
_FORMS = forms("names", name=_NAME, quote=_QUOTE)

_STATEMENTS = [
    re.compile(rf"\b(?P<alias>{_NAME})(?:\sis|['’]s|\swas)?{_BREAK}(?:which\sis\s)?short\sfor\s(?P<name>{_NAME})"),
    re.compile(
        rf"\b(?P<name>{_NAME}){_BREAK}(?:who\sis\s|is\s)?(?:aka|a\.k\.a\.|also\sknown\sas|better\sknown\sas|nicknamed)\s"
        rf"{_QUOTE}(?P<alias>{_NAME})"
    ),
    re.compile(rf"\b(?P<name>{_NAME}),?\s(?:who\s)?goes\sby\s(?:the\sname\s(?:of\s)?)?{_QUOTE}(?P<alias>{_NAME})"),
    re.compile(rf"\b(?P<name>{_NAME})['’]s\snickname\sis\s{_QUOTE}(?P<alias>{_NAME})"),
]

_NAMES = re.compile(_NAME)


@dataclass(frozen=True, slots=True)
class Names:
    """The names in a segment.

    Attributes:
        speakers: Names of authors who are people, by author line; roles such as ``Project Manager`` are left out.
        owner: The author line of the account's user, if it can be determined.
        persons: People, speakers included, most mentioned first, without the owner.
        ties: What people have to do with organisations.
        endings: What has ended or never was.
        titled: Names of one word with the title before them: ``Mr. Osei``.
        aliases: Explicitly stated aliases, each as the person's name and the alias.
    """

    speakers: dict[str, str]
    owner: str | None
    persons: tuple[Named, ...]
    projects: tuple[Named, ...]
    others: tuple[Named, ...]
    relations: tuple[StatedRelation, ...]
    ties: tuple[StatedRelation, ...] = ()
    endings: tuple[Ending, ...] = ()
    titled: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[tuple[str, str], ...] = ()

    def known_as(self, full: Mapping[str, str]) -> Names:
        """Return the same names with each name replaced by its full name in ``full``."""

        def called(name: str) -> str:
            return full.get(name, name)

        def united(group: Iterable[Named]) -> tuple[Named, ...]:
            by_name: dict[str, list[Named]] = {}
            for one in group:
                by_name.setdefault(called(one.name), []).append(one)
            found = [
                Named(
                    name,
                    tuple(dict.fromkeys((*written.get(name, ()), *(alias for one in same for alias in one.aliases)))),
                    sum(one.mentions for one in same),
                    frozenset(number for one in same for number in one.sentences),
                )
                for name, same in by_name.items()
            ]
            return tuple(sorted(found, key=lambda one: (-one.mentions, one.name)))

        written: dict[str, list[str]] = {}
        for form, name in full.items():
            written.setdefault(name, []).append(form)

        def renamed(relations: Iterable[StatedRelation]) -> tuple[StatedRelation, ...]:
            said = (replace(one, person=called(one.person), whose=one.whose and called(one.whose)) for one in relations)
            return tuple(dict.fromkeys(said))

        return replace(
            self,
            persons=united(self.persons),
            projects=united(self.projects),
            relations=renamed(self.relations),
            ties=renamed(self.ties),
            endings=tuple(
                replace(one, other=called(one.other), whose=one.whose and called(one.whose)) for one in self.endings
            ),
            aliases=tuple(
                (called(name), form)
                for pair in self.aliases
                for name, form in (pair, pair[::-1])
                if called(name) == called(form) != form
            ),
        )


def find_names(prose: Prose) -> Names:
    """Find the names in ``prose``, in linear time."""
    authors = dict.fromkeys(m.author for m in prose.segment.messages if m.author and m.role is Role.USER)
    speakers = {author: name for author in authors if (name := person_of_author(author))}
    owner = _owner(prose.segment.messages, prose.segment.ref.user_slug)
    runs = Runs(prose)
    nicknames = _nicknames(runs, list(speakers.values()))
    stated_ones = stated_relations(prose, speakers, owner)
    relations = tuple(one for one in stated_ones if not one.by_verb)
    projects = _projects(prose, runs, set(speakers.values()))
    taken = {form for project in projects for form in (project.name, *project.aliases)}
    persons: list[Named] = []
    first_names = Counter(name.split()[0] for name in set(speakers.values()))
    for author, name in speakers.items():
        forms = [name, *nicknames.get(name, ())]
        if " " in name and first_names[name.split()[0]] == 1:
            forms.append(name.split()[0])
        taken.update(forms)
        if author != owner:
            extra = [author] if author != name else []
            persons.append(runs.named(name, [*forms[1:], *extra]))
    own_names = {speakers.get(owner, owner)} if owner else set()
    stated: dict[str, set[tuple[str | None, str]]] = {}
    for relation in relations:
        stated.setdefault(relation.person, set()).add((relation.whose, relation.label))
    _add_mentioned(persons, runs, stated, taken, own_names)
    others = [runs.named(name, []) for name in runs.names if name not in taken and runs.is_entity(name)]
    unique = {person.name: person for person in persons}
    aliases = stated_aliases(prose, unique)
    names = Names(
        speakers=speakers,
        owner=owner,
        persons=tuple(unique.values()),
        projects=tuple(projects),
        others=tuple(other for other in others if other.name not in {alias for _, alias in aliases}),
        relations=relations,
        ties=tuple(one for one in stated_ones if one.by_verb),
        endings=stated_endings(prose, speakers, owner),
        titled=runs.titled,
        aliases=tuple(aliases),
    )
    return names.known_as(_full_names(unique, aliases, set(speakers.values()), stated))


def _are_two(name: str, other: str, stated: _Relations) -> bool:
    """Return whether two names are of two people: each has a role to the same person, and no role in common."""
    mine, theirs = stated.get(name, frozenset()), stated.get(other, frozenset())
    return mine.isdisjoint(theirs) and bool({whose for whose, _ in mine} & {whose for whose, _ in theirs})


def _add_mentioned(
    persons: list[Named], runs: Runs, stated: _Relations, taken: set[str], own_names: Collection[str]
) -> None:
    """Add the persons in the text to ``persons``, and their names to ``taken``."""
    for name in runs.names:
        if name in taken or name in own_names or (" " not in name and _is_first_of(name, persons)):
            continue
        if name in stated or runs.person_signs(name) >= 2:
            longer = [other for other in runs.names if other.startswith(f"{name} ") and other not in taken]
            longer = [other for other in longer if not _are_two(name, other, stated)]
            if " " not in name and len(longer) == 1 and (longer[0] in stated or runs.person_signs(longer[0]) >= 1):
                persons.append(runs.named(longer[0], [name]))
                taken.update((name, longer[0]))
            else:
                persons.append(runs.named(name, []))
                taken.add(name)
    persons.extend(runs.named(name, []) for name in stated if name not in taken and name not in own_names)
    taken.update(stated)


def _full_names(
    persons: Mapping[str, Named], aliases: Iterable[tuple[str, str]], speakers: set[str], stated: _Relations
) -> dict[str, str]:
    """Map each name of a person with several names to the one to use: the full name, else the most frequent."""
    full: dict[str, str] = {}
    for name in persons.keys() - speakers:
        longer = [one for one in persons if one.startswith(f"{name} ") and not _are_two(name, one, stated)]
        if len(longer) == 1:
            full[name] = longer[0]
    for pair in aliases:
        used = [name for name in pair if name in persons]
        kept = min(used, key=lambda name: (name not in speakers, -persons[name].mentions, name))
        for name in set(pair) - speakers - {kept}:
            full[name] = full.get(kept, kept)
    return full


def person_of_author(author: str) -> str | None:
    """Return the person's name in an author line, without titles, offices and parties; None for a role."""
    lexicon = english()
    words = [word.strip(".,") for word in _FORMS.parentheses.sub(" ", author).split()]
    while words and words[0].lower() in lexicon.titles:
        words.pop(0)
    while len(words) > 1 and words[-1].isupper() and len(words[-1]) <= 3:
        words.pop()
    name = " ".join(words)
    plain = re.fullmatch(r"[^\W\d_][^\W\d_'’.-]*(?:[ '’.-]+[^\W\d_]+)*", name)
    if not plain or len(name) > 40 or len(words) > 4 or len(name) < 2:
        return None
    named = [word for word in words if word.lower() not in lexicon.roles and len(word) > 1]
    if len(named) < len(words) or any(word.lower() in lexicon.stop for word in words):
        return None
    return name if name[0].isupper() or not name.isascii() else name.title()


def _owner(messages: tuple[Message, ...], user_slug: str) -> str | None:
    """Return the author who is the account's user: named like it, or the only one who talks with an assistant."""
    authors = dict.fromkeys(m.author for m in messages if m.author and m.role is Role.USER)
    for author in authors:
        if "".join(filter(str.isalnum, author.lower())) == "".join(filter(str.isalnum, user_slug.lower())):
            return author
    talks_with_assistant = any(m.role is Role.ASSISTANT for m in messages)
    return next(iter(authors)) if talks_with_assistant and len(authors) == 1 else None


def _nicknames(runs: Runs, speakers: list[str]) -> dict[str, tuple[str, ...]]:
    """Return short forms that fit exactly one speaker, such as Mel for Melanie."""
    found: dict[str, list[str]] = {}
    for name in runs.names:
        fitting = [s for s in speakers if s.lower().startswith(name.lower()) and len(name) < len(s.split()[0])]
        if " " not in name and len(fitting) == 1 and runs.count(name) >= 2:
            found.setdefault(fitting[0], []).append(name)
    return {speaker: tuple(names) for speaker, names in found.items()}


def _projects(prose: Prose, runs: Runs, speakers: set[str]) -> list[Named]:
    lexicon = english()
    empty = lexicon.junk | lexicon.stop | lexicon.filler
    ordinary = empty | lexicon.common | lexicon.roles | _NO_PROJECT
    names: dict[str, bool] = {}
    for sentence in (prose.headline, *prose.sentences):
        for match in _FORMS.project.finditer(sentence.text if sentence else ""):
            written = match["named"] or match["kind"] or match["launched"] or match["object"]
            name = " ".join(word for word in written.split() if word.lower() not in empty)
            opening = match["kind"] is not None and match.start() == 0
            if (
                re.fullmatch(r"[A-Za-z][\w -]{2,39}", name)
                and not name.isupper()
                and name.lower() not in ordinary
                and name not in speakers
                and runs.person_signs(name) < 2
                and (match["what"] or "").lower() not in ordinary
                and (not opening or runs.in_middle(name))
            ):
                bare = name.removeprefix("Project ")
                names[bare] = names.get(bare, False) or match["named"] is not None
    found = []
    for bare, titled in names.items():
        forms = [f"Project {bare}", bare, f"{bare} project", f"{bare} launch"]
        own = forms.pop(0 if titled else 1)
        found.append(runs.named(own, forms))
    return sorted(found, key=lambda project: (-project.mentions, project.name))


def _is_first_of(name: str, persons: list[Named]) -> bool:
    return any(name in person.aliases for person in persons)


def stated_aliases(prose: Prose, persons: Collection[str]) -> list[tuple[str, str]]:
    """Return pairs of a person's name and an alias, in order of appearance.

    Args:
        prose: The segment.
        persons: Names of known persons; at least one name of each pair is among them.
    """
    found: dict[tuple[str, str], None] = {}
    before: list[str] = []
    read = 0
    for number, sentence in enumerate(prose.sentences):
        for pattern in _STATEMENTS if _FORMS.hint.search(sentence.text) else ():
            for match in pattern.finditer(sentence.text):
                _add(found, persons, match["name"], match["alias"])
        for match in (
            _FORMS.called.finditer(sentence.text) if "call" in sentence.text or "nick" in sentence.text else ()
        ):
            for one in prose.sentences[read:number]:
                before = _named(one.text, persons) or before
            read = number
            # The pronoun means the only person named before; with two candidates it is ambiguous.
            whom = set(_named(sentence.text[: match.start()], persons) or before) - {match["who"]}
            if len(whom) == 1:
                _add(found, persons, whom.pop(), match["alias"])
        if len(found) >= MAX_STATED:
            break
    return list(found)


def _named(text: str, persons: Collection[str]) -> list[str]:
    return [name for name in map(_bare, _NAMES.findall(text)) if name in persons]


def _add(found: dict[tuple[str, str], None], persons: Collection[str], name: str, alias: str) -> None:
    name, alias = _bare(name), _bare(alias)
    if name != alias and _may_be_name(name) and _may_be_name(alias) and (name in persons or alias in persons):
        found[name, alias] = None


def _bare(name: str) -> str:
    return name[:-2] if name.endswith(("'s", "’s")) else name


def _may_be_name(name: str) -> bool:
    """Whether no word of ``name`` is an ordinary word, such as a day, a greeting or a family role."""
    lexicon = english()
    ordinary = lexicon.junk | lexicon.stop | lexicon.filler | lexicon.common | lexicon.roles | lexicon.relations.keys()
    return len(name) <= 40 and not any(word.lower() in ordinary for word in name.split())
