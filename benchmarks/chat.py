"""Synthetic conversations of a person who plans things with an assistant. A number always gives the same text.

For throughput only; search quality is measured on real conversations.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from neurigraph_pipelines.model import ImportedConversation, IncomingMessage, Role

_START = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Subject:
    name: str
    people: tuple[str, ...]
    things: tuple[str, ...]


_SUBJECTS = (
    _Subject("the kitchen renovation", ("Marta", "Piet"), ("oak worktop", "induction hob", "plumbing", "tiles")),
    _Subject("the Lisbon trip", ("Joana", "Tom"), ("night train", "Alfama apartment", "museum pass", "ferry")),
    _Subject("Project Heron", ("Priya", "Luis"), ("release plan", "login screen", "error budget", "load test")),
    _Subject("the community garden", ("Ingrid", "Omar"), ("compost bins", "tomato beds", "water tank", "fence")),
    _Subject("my marathon training", ("Coach Hana", "Ben"), ("long run", "knee", "interval session", "shoes")),
    _Subject("the school concert", ("Mr. Adler", "Zoe"), ("cello part", "seating", "programme", "rehearsal")),
    _Subject("Harbor Analytics", ("Dave", "Chen"), ("quarterly report", "data warehouse", "contract", "invoice")),
    _Subject("the old sailing boat", ("Uncle Karl", "Mina"), ("mast", "varnish", "outboard engine", "mooring")),
    _Subject("Grandma's ninetieth birthday", ("Aunt Rosa", "Felix"), ("guest list", "cake", "slide show", "hall")),
    _Subject("the bread baking course", ("Emil", "Sofia"), ("sourdough starter", "rye flour", "oven", "proofing")),
    _Subject("Norvik Logistics", ("Astrid", "Jamal"), ("route planner", "depot", "electric vans", "tender")),
    _Subject("the podcast", ("Nora", "Iris"), ("microphone", "pilot episode", "interview", "cover art")),
)

_ASKED = (
    "I talked to {person} about {subject} yesterday. The {thing} will cost {amount} euros, which is more than we said.",
    "Can you help me think through the {thing}? {person} wants to decide by {day}, and I am not sure what we need.",
    "Quick update on {subject}: the {thing} is done, the {other} is still open, and {person} is away until {day}.",
    "What would you do about the {thing}? Last week it looked fine, but now there are {count} problems with it.",
    "Please remember that {person} prefers to be called in the morning, and that the {thing} waits for the {other}.",
    "We moved the meeting with {person} to {day}. I want to show the {thing} first and then talk about money.",
    "Honestly, the {thing} worries me. {person} said it takes {count} weeks, and we have half of that.",
    "Good news! The {other} arrived two days early. That leaves {amount} euros for the {thing}.",
)
_ANSWERED = (
    "That makes sense. For {subject} I would settle the {thing} first, because the {other} depends on it. If {person} "
    "can confirm by {day}, you keep about {count} days in reserve. Shall I write down the open questions for them?",
    "Here is how I see it: the {thing} at {amount} euros is within what similar work costs, but ask {person} what is "
    "included. Compare at least {count} offers, and have the delivery date in writing before you pay anything.",
    "Noted: {person}, {day}, the {thing}. I would also put the {other} on the list, since you said last time that it "
    "had slipped. Would a short message to everybody help, so that nobody is surprised?",
    "There are {count} ways to go on. You could leave the {thing} as it is and spend the {amount} euros elsewhere; you "
    "could ask {person} to redo part of it; or you wait until {day} and decide with the others.",
    "I understand the worry. Break the {thing} into {count} steps, do the riskiest first, and tell {person} early if "
    "it slips. The {other} can wait: nothing else in {subject} needs it before {day}.",
)
_DAYS = ("Monday", "Tuesday", "next Thursday", "Friday", "the weekend", "the 14th", "the end of the month")


def reference(number: int) -> str:
    """Return a word that only this conversation contains."""
    return f"ref{number:06d}"


def conversation(number: int) -> ImportedConversation:
    """Return conversation ``number``: 20 to 30 alternating messages of 20 to 60 words about one subject, ended."""
    chance = random.Random(number)
    subject = chance.choice(_SUBJECTS)
    start = _START + timedelta(hours=6 * number)
    messages = [
        IncomingMessage(
            role=Role.ASSISTANT if turn % 2 else Role.USER,
            content=_said(chance, subject, _ANSWERED if turn % 2 else _ASKED),
            external_id=f"m{turn:02d}",
            occurred_at=start + timedelta(seconds=45 * turn),
        )
        for turn in range(chance.randint(20, 29))
    ]
    messages.append(
        IncomingMessage(
            role=Role.USER,
            content=f"Let us stop here for today. File this under {reference(number)}.",
            external_id="last",
            occurred_at=start + timedelta(hours=1),
        )
    )
    return ImportedConversation(
        external_id=f"chat-{number}",
        messages=tuple(messages),
        title=f"About {subject.name}",
        started_at=start,
        ended_at=start + timedelta(hours=1),
    )


def conversations(first: int, count: int) -> Iterator[ImportedConversation]:
    """Return conversations ``first`` to ``first + count - 1``."""
    return map(conversation, range(first, first + count))


def _said(chance: random.Random, subject: _Subject, phrases: tuple[str, ...]) -> str:
    thing, other = chance.sample(subject.things, 2)
    return " ".join(
        phrase.format(
            subject=subject.name,
            person=chance.choice(subject.people),
            thing=thing,
            other=other,
            amount=chance.randrange(40, 9_000, 20),
            count=chance.randint(2, 9),
            day=chance.choice(_DAYS),
        )
        for phrase in chance.sample(phrases, chance.choice((1, 1, 2)))
    )
