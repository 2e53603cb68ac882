"""The origin of text: the interface through which it arrived, and the voice of its speaker.

The server decides both, from the credentials of the caller. The stated author and role are claims.
"""

from __future__ import annotations

from neurigraph_pipelines.views.kinds import ReceivedThrough, Voice

FETCHED_THROUGH = frozenset([ReceivedThrough.WEB, ReceivedThrough.PEER])
"""Doors through which comes what neither the owner nor a program of the owner wrote."""

OTHERS = frozenset(Voice) - {Voice.OWNER, Voice.ASSISTANT}
"""The voices of others than the owner and the owner's assistant: their words count for less than the owner's."""

_CALLED = {
    Voice.SYSTEM: "instructions of the system",
    Voice.TOOL: "a tool's result",
    Voice.DOCUMENT: "a document",
    Voice.FETCHED: "a fetched page",
}

_NAMES_OF_ROLES = frozenset(["system", "assistant", "tool", "user", "developer", "owner"])


def author_view(author: str | None, voice: Voice | None, persona: str | None = None) -> str | None:
    """Return the name under which a message is shown.

    A persona is shown as the persona, whatever author it stated. An author that is called like a role, such as
    ``system``, is shown in quotation marks and with who really speaks.

    Args:
        author: The author that the writer stated.
        voice: Who speaks; None if the passage is from before voices were recorded.
        persona: The name of the persona's node, if the caller may see it.
    """
    if voice is Voice.PERSONA:
        return f"{persona} (persona)" if persona else "a persona"
    if author is None or voice is None or author.strip().casefold() not in _NAMES_OF_ROLES:
        return author
    if author.strip().casefold() == voice:
        return author
    return f'{voice.replace("_", " ")} called "{author.strip()}"'


def speaker_called(author: str | None, voice: Voice | None, role: str) -> str:
    """Return how an answer calls the speaker of a message.

    Args:
        author: The name under which the message is shown.
        role: The role that the writer stated.
    """
    called = _CALLED.get(voice) if voice is not None else None
    if called is None:
        return author or ("another person" if voice is Voice.OTHER_PERSON else role)
    return f"{called} ({author})" if author else called
