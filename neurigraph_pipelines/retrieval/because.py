"""The causes behind an answer: a question that asks why follows the links from the quotes of its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.retrieval.about import passages_at
from neurigraph_pipelines.retrieval.passages import ReadMessage, places_of

MOST = 3
"""Most messages that stand behind an answer."""

MOST_HOPS = 3

_WHY = re.compile(
    r"\b(?:why|how come|what(?: was| is|['’]s| were)?(?: the)? (?:reasons?|causes?|caused|led to)|warum|wieso|weshalb|"
    r"por qué|pourquoi|perché|waarom|por que)\b",
    re.I,
)
_QUERIES = statements("walks")


def causes_behind(context: Context, query: str, quoted: Sequence[ReadMessage]) -> list[ReadMessage]:
    """Return messages that tell the causes of the events in some passages; none if the question does not ask why."""
    if not quoted or not _WHY.search(query):
        return []
    return enriched("causes", lambda: _causes(context, quoted), list[ReadMessage])


def _causes(context: Context, quoted: Sequence[ReadMessage]) -> list[ReadMessage]:
    told = places_of(quoted)
    values = {
        "user_id": context.claims.user_id,
        "record_ids": [record_id for record_id, _ in told],
        "messages": [message for _, message in told],
        "hops": MOST_HOPS,
        "most": MOST + len(told),
    }
    rows = context.database.ask(context.claims, _QUERIES["messages_behind"], values)
    places = [place for row in rows if (place := (row["record_id"], row["message"])) not in told][:MOST]
    found = passages_at(context, set(places))
    return [found[place] for place in places if place in found]
