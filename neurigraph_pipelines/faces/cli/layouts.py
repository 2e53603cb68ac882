"""Layouts of results for a terminal: domain values in, rich renderables out.

All text from memories goes through ``printable``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from neurigraph_pipelines.faces.cli import origins
from neurigraph_pipelines.faces.cli.output import counted, more, printable
from neurigraph_pipelines.model import KEYWORD_COLUMNS, Voice, speaker_called
from neurigraph_pipelines.views.answers import Reply
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.facts import Fact, FoundFact
from neurigraph_pipelines.views.failures import FailureOfUser
from neurigraph_pipelines.views.files import Message
from neurigraph_pipelines.views.graph import Profile, Shell, TreeNode
from neurigraph_pipelines.views.memories import Delta, Difference, Memory
from neurigraph_pipelines.views.scalars import WireObject
from neurigraph_pipelines.views.search import Found, Hit, MessageHit, Rationale

EXCERPT_CHARACTERS = 300
MESSAGES_SHOWN = 5
NOT_STORED = "not stored yet"
LINKS_SHOWN = 5


def plain(text: str, style: str = "") -> Text:
    """Return text without characters that a terminal would interpret."""
    return Text(printable(text), style)


def lines(*texts: str) -> Group:
    """Return one line per text."""
    return Group(*map(plain, texts))


def unbroken(*texts: str) -> Group:
    """Return one line per text that is not wrapped, so that an address in it can be copied."""
    return Group(*(Text(printable(text), no_wrap=True, overflow="ignore") for text in texts))


def stacked(*parts: RenderableType) -> Group:
    """Show parts below each other."""
    return Group(*parts)


def tree(root: TreeNode) -> Tree:
    """Return the graph as a tree, with the kind, number of records and links of every node."""
    drawn = Tree(_label(root))
    for link in root.links[:LINKS_SHOWN]:
        drawn.add(plain(link, "dim"))
    for child in root.children:
        drawn.add(tree(child))
    return drawn


def _label(node: TreeNode) -> Text:
    count = f"{node.record_count} record{'' if node.record_count == 1 else 's'}"
    return Text.assemble((printable(node.name), "bold"), (f"  {node.kind}, {count}", "dim"))


def answer(found: Found, user: str, quotes: Mapping[UUID, Message]) -> RenderableType:
    """Return the hits of a search, each with its best message and the command that opens it.

    Args:
        quotes: The best message of each record; one that could not be read is absent.
    """
    parts: list[RenderableType] = [plain(note, "yellow") for note in found.notes]
    times = dict.fromkeys(period.words for period in found.periods)
    if times:
        parts.append(plain(f"preferred: {', '.join(times)}", "dim"))
    if not found.hits:
        return Group(*parts, Text("Nothing found."))
    for number, hit in enumerate(found.hits, start=1):
        messages = [message for message in found.messages if message.key == hit.key]
        parts += _hit(number, hit, messages, user, quotes.get(hit.key))
    parts += [_fact(fact) for fact in found.facts or ()]
    if found.rationale is not None:
        parts += _rationale(found.rationale)
    return Group(*parts)


def reply(given: Reply, user: str) -> RenderableType:
    """Return an answer, then its citations with the commands that open them."""
    parts: list[RenderableType] = [plain(note, "yellow") for note in given.notes]
    parts += [plain(line) for line in given.answer.splitlines()]
    for cited in given.citations:
        message = "" if cited.seq is None else f" --message {cited.seq}"
        parts.append(
            Text.assemble(
                (f"[{cited.number}] {printable(cited.title or 'untitled')}", "bold"),
                (
                    f"  {printable(cited.author or '')}  {printable(cited.node_path or NOT_STORED)}"
                    f"  {_date(cited.occurred_at)}",
                    "dim",
                ),
            )
        )
        parts.append(plain(f"    {origins.described(cited.origin, cited.voice)}", "dim"))
        parts.append(plain("    " + _excerpt(cited.text)))
        opens = cited.record_id or cited.source_id
        parts.append(plain(f"    neurigraph open {opens} --user {user}{message}", "dim"))
    return Group(*parts)


def _hit(
    number: int,
    hit: Hit,
    messages: Sequence[MessageHit],
    user: str,
    quote: Message | None,
) -> Iterable[RenderableType]:
    yield Text.assemble(
        (f"{number}. {printable(hit.title or 'untitled')}", "bold"),
        (f"  {printable(hit.node_path or NOT_STORED)}  {_date(hit.occurred_at)}  {hit.score:.3f}", "dim"),
    )
    if quote is not None:
        said = f"{quote.author or quote.role.value}, {quote.occurred_at:%Y-%m-%d}"
        yield Text.assemble((f"   {printable(said)}: ", "cyan"), printable(" ".join(quote.content.split())))
    else:
        yield plain("   " + _excerpt(hit.summary))
    if messages:
        best = ", ".join(_message(message) for message in messages[:MESSAGES_SHOWN])
        yield plain(f"   best messages: {best}", "cyan")
    yield plain(f"   {origins.described(hit.origin)}{origins.expiry(hit.tier, hit.expires_at)}", "dim")
    if hit.explain is not None:
        yield plain(f"   score: {_components(hit.explain)}", "dim")
        for message in messages[:MESSAGES_SHOWN]:
            yield plain(f"   message {message.seq}: {_components(message.explain or {})}", "dim")
    first = f" --message {messages[0].seq}" if messages else ""
    yield plain(f"   neurigraph open {hit.key} --user {user}{first}", "dim")


def _fact(fact: FoundFact) -> Text:
    said = f"{fact.record_id} message {fact.first_message}, {fact.score:.3f}{origins.restated(fact)}"
    return Text.assemble(("fact: ", "bold"), printable(fact.statement), (f"  {printable(said)}", "dim"))


def _rationale(moved: Rationale) -> Iterable[RenderableType]:
    for name in moved.names:
        yield plain(f"named ({name.match}): {name.node_path}, adds {name.added:.3f} to its memories", "dim")
    for edge in moved.edges:
        ends = f"{edge.from_node_path} {edge.relation} {edge.to_node_path}"
        yield plain(f"edge: {ends}, strength {edge.strength:.2f}, evidence {edge.evidence_count}", "dim")
    for fact in moved.facts:
        yield plain(f"fact {fact.fact_id} lends {fact.lent:.3f}", "dim")


def _message(message: MessageHit) -> str:
    external_id = message.external_id
    named = f" ({external_id})" if external_id and not external_id.startswith("#") else ""
    return f"{message.seq}{named} {message.score:.2f}"


def _components(explained: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in explained.items() if value is not None)


def node(shell: Shell) -> RenderableType:
    """Return the shell of a node."""
    title = Text.assemble((printable(shell.path), "bold"), (f"  {shell.kind}", "dim"))
    parts: list[RenderableType] = [title]
    if shell.summary:
        parts.append(plain(shell.summary))
    parts.append(
        fields(
            {
                "id": shell.node_id,
                "records": shell.record_count,
                "files": shell.state,
                "language": shell.language,
                "last accessed": _date(shell.last_accessed_at),
                "aliases": ", ".join(shell.aliases),
                "keywords": ", ".join(shell.keywords),
                **_profile_lines(shell.profile),
                "children": ", ".join(child.name for child in shell.children),
                "edges": "; ".join(f"{one.relation} {one.arrow} {one.node_name}{one.held}" for one in shell.edges),
            }
        )
    )
    return Group(*parts)


def transcript(messages: Iterable[WireObject]) -> RenderableType:
    """Return the messages of a file, in order, under the names by which the server knows their speakers."""
    return Group(
        *(
            Text.assemble(
                (f"{message['seq']}  {_date(message['occurred_at'])}  ", "dim"),
                (f"{printable(sayer(message))}: ", "bold"),
                printable(message["content"]),
            )
            for message in messages
        )
    )


def sayer(message: WireObject) -> str:
    """Return who said a message of a transcript, as the server knows it; of a tool, also what it did."""
    voice = Voice(message["voice"]) if message.get("voice") else None
    speaker = speaker_called(message["author"], voice, message["role"])
    if message.get("tool_use_id") is None and message.get("tool_name") is None:
        return speaker
    what = {"tool_use": "was called", "error": "failed"}.get(message["type"], "returned")
    if message.get("error") is not None:
        what = "failed"
    took = f" in {message['duration_ms']:,} ms" if message.get("duration_ms") is not None else ""
    tool = f"[tool {message.get('tool_name') or message['tool_use_id']} {what}{took}]"
    return f"{speaker} {tool}" if voice in (Voice.PERSONA, Voice.FETCHED) else tool


def memory(found: Memory) -> RenderableType:
    """Return one version of a memory."""
    title = Text.assemble(
        (printable(found.title or "untitled"), "bold"),
        (f"  {printable(found.node_path or '')}  {_date(found.occurred_at)}", "dim"),
    )
    return Group(
        title,
        plain(found.summary),
        fields(
            {
                **{name: ", ".join(getattr(found, name)) for name in KEYWORD_COLUMNS},
                "kept": origins.expiry(found.tier, found.expires_at).strip(", "),
                "superseded by": found.superseded_by or "",
                "vectors": found.embedding_model or "pending",
                "since": found.changed_at and found.changed_at.isoformat(),
                "delta": found.delta_id,
            }
        ),
    )


def deltas(found: Sequence[Delta]) -> RenderableType:
    """Return the changes of a memory, each with its author and the values that it replaced."""
    parts: list[RenderableType] = []
    for delta in found:
        parts.append(
            Text.assemble(
                (f"{delta.changed_at.isoformat()}  {printable(delta.operation)}", "bold"),
                (f"  {printable(delta.authored_by)}  {delta.delta_id}", "dim"),
            )
        )
        parts += [_change(name, before, delta.after.get(name)) for name, before in delta.before.items()]
        parts += [plain(f"   {note}", "dim") for note in delta.notes]
    return Group(*parts)


def changes(found: Difference) -> RenderableType:
    """Return the differences between two versions of a memory, by field."""
    if not found.changes:
        return Text("Nothing changed.")
    return Group(*(_change(name, one.before, one.after) for name, one in found.changes.items()))


def _change(name: str, before: Any, after: Any) -> RenderableType:
    return plain(f"   {name}: {_value(before)} → {_value(after)}")


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else _excerpt(str(value))


def failures(found: Sequence[FailureOfUser]) -> RenderableType:
    """Return failures of segments and files, each with the command that replays it."""
    if not found:
        return Text("Nothing has failed.")
    parts: list[RenderableType] = []
    for failure in found:
        source = failure.file_name or failure.source_external_id or str(failure.source_id)
        is_upload = failure.first_message is None
        messages = "" if is_upload else f"  messages {failure.first_message} to {failure.last_message}"
        replayed = f"  replayed, now {failure.state}" if failure.replayed_at is not None else ""
        parts.append(
            Text.assemble(
                (printable(f"{failure.user_slug}: {failure.source_kind} {source}"), "bold"),
                (messages, ""),
                (f"  {_date(failure.occurred_at)}{replayed}", "dim"),
            )
        )
        parts.append(plain(f"   {failure.step}, attempt {failure.attempts}: {_excerpt(failure.error)}"))
        if failure.replayed_at is None:
            parts.append(plain(f"   neurigraph source failure replay {failure.failure_id}", "dim"))
    return Group(*parts)


def fields(values: Mapping[str, object]) -> Group:
    """Return one line per name and value, without empty values."""
    width = max(map(len, values)) + 2
    return Group(
        *(
            Text.assemble((name.ljust(width), "dim"), printable(str(value)))
            for name, value in values.items()
            if value not in ("", None)
        )
    )


def table(rows: Sequence[Mapping[str, object]]) -> RenderableType:
    """Return rows as a table, with the keys of the first row as columns."""
    drawn = Table(box=None, pad_edge=False)
    for name in rows[0] if rows else ():
        drawn.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(plain(f"{value:,}" if isinstance(value, int) else str(value)) for value in row.values()))
    return drawn


def _date(moment: datetime | str) -> str:
    at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return at.strftime("%Y-%m-%d %H:%M")


def _excerpt(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= EXCERPT_CHARACTERS else one_line[: EXCERPT_CHARACTERS - 1].rstrip() + "…"


def page(rows: Sequence[Mapping[str, object]], next_cursor: str | None) -> RenderableType:
    """Return a page of a list, one item a row, and how to see more."""
    if not rows:
        return Text("Nothing found.")
    shown = [{name: str(value) for name, value in row.items()} for row in rows]
    return Group(table(shown), *(plain(line, "dim") for line in more(next_cursor)))


def walked(found: QueriedFacts) -> Group:
    """Return the facts that a walk found, and the paths to related facts, a line each."""
    matches = [_stated(one) for one in found.matches]
    related = [one.path_description for one in found.related]
    return lines(*(matches or ["There are no such facts."]), *related, *found.notes)


def _stated(fact: Fact) -> str:
    status = "" if fact.status == "active" else f", {fact.status}"
    return f"{fact.occurred_from or fact.said_at:%Y-%m-%d}  {fact.statement} ({fact.fact_id}{status})"


def _profile_lines(profile: Profile | None) -> dict[str, str]:
    if profile is None:
        return {}
    state = f"{profile.rebuilt_at:%Y-%m-%d}{', stale' if profile.is_stale else ''}"
    lines = {
        "profile": f"{counted(profile.record_count, 'record')} from {profile.first_at:%Y-%m-%d} to "
        f"{profile.last_at:%Y-%m-%d}; made {state}",
        "about": ", ".join(f"{each.word} {each.weight:.0%}" for each in profile.descriptors),
        "centroids": "; ".join(f"{each.share:.0%} {', '.join(each.descriptors)}".strip() for each in profile.centroids),
    }
    if (drift := profile.drift) is not None:
        lines["drift"] = (
            f"{drift.distance:.2f} between the newest {drift.recent_records} and the {drift.baseline_records} before"
        )
    return lines
