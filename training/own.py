"""A user's own questions in the format of ``neurigraph eval``, with the messages that the user's graph keeps."""

from __future__ import annotations

from pathlib import Path

from neurigraph_pipelines.evaluation.history import History
from neurigraph_pipelines.evaluation.own_questions import read_questions
from neurigraph_pipelines.faces.cli.session import claims_of, note_user, opened, usual_user
from neurigraph_pipelines.text.languages import CODES
from training.talks import Asked, Said, Talk, TalkError


def own_talk(file: Path, user: str | None) -> Talk:
    """Return all messages of a user's graph as one talk, with the questions of a file. Nothing is noted in the graph.

    Args:
        user: Whose graph; None for the user of ``neurigraph use``, or the only one.

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
    messages = (
        Said(one.message.author or one.message.role.value, one.message.content, str(one.record.record_id))
        for one in history.messages.values()
    )
    asked = [
        Asked(one.text, tuple(sorted({places[key] for source in one.evidence for key in history.named(source)})))
        for one in questions
    ]
    if not any(one.evidence for one in asked):
        raise TalkError(f"{file}: no question has sources that name a message of {slug}: give them words of one")
    return Talk(slug, "own", language, tuple(messages), tuple(asked))
