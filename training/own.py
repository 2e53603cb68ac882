"""A user's own questions in the format of ``neurigraph eval``, with the messages that the user's graph keeps."""

from __future__ import annotations

import hashlib
from pathlib import Path

from neurigraph_pipelines.faces.cli.about_user import note_user
from neurigraph_pipelines.faces.cli.session import claims_of, opened, usual_user
from neurigraph_pipelines.runtime.evaluation.history import History
from neurigraph_pipelines.runtime.evaluation.own_questions import read_questions
from neurigraph_pipelines.text.languages import CODES
from training.talks import Asked, Said, Talk, TalkError

_ONE_HELD_OUT_OF = 5


def own_talks(file: Path, user: str | None, every: bool) -> list[Talk]:
    """Return a user's graph as a talk with the questions to train on, and as one with those held out to measure.

    All stored messages are one talk, so that a question is told apart from all of them. Nothing is noted in the graph.

    Args:
        user: Whose graph; None for the user of ``neurigraph use``, or the only one.
        every: Hold out none.

    Raises:
        NeurigraphError: The file is broken, or the graph cannot be read.
        TalkError: No source names a stored message.
    """
    questions = read_questions(file)
    slug = note_user(user or usual_user())
    assert slug is not None
    with opened() as here:
        language = CODES[here.settings.language]
        history = History(here.acting_for(claims_of(here, slug)).unnoted(), here.cursors)
    places = {key: place for place, key in enumerate(history.messages)}
    messages = tuple(
        Said(one.message.author or one.message.role.value, one.message.content, str(one.record.record_id))
        for one in history.messages.values()
    )
    asked = [
        Asked(one.text, tuple(sorted({places[key] for source in one.sources for key in history.named(source)})))
        for one in sorted(questions, key=lambda one: hashlib.sha256(one.text.encode()).digest())
    ]
    known = [one for one in asked if one.sources]
    if not known:
        raise TalkError(f"{file}: no question has sources that name a message of {slug}: give them words of one")
    held = [] if every else known[::_ONE_HELD_OUT_OF]
    learned = [one for one in asked if one not in held]
    return [Talk(slug, "own", language, messages, tuple(some)) for some in (learned, held)]
