"""All operations in groups. Written by docs/generate.py from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from neurigraph_client.calls import NOT_GIVEN, Group, Pages, Steps, W, answer, asked, listed, pages
from neurigraph_client.models import Given

if TYPE_CHECKING:
    from neurigraph_pipelines.views.access import Account, CreatedUser, Grant, GrantPreview, Identity, IssuedKey, Key, Personas, SignedIn, Users
    from neurigraph_pipelines.views.actions import Action, Standard
    from neurigraph_pipelines.views.answers import Reply
    from neurigraph_pipelines.views.digests import Digest, RemovedDigest
    from neurigraph_pipelines.views.erasures import Erasure, ErasurePreview, ErasureWithObjects
    from neurigraph_pipelines.views.evidence import EdgeEvidence, ListedAlias, Mention, NodeAlias, RemovedAliases, StatedEvidence
    from neurigraph_pipelines.views.fact_queries import QueriedFacts
    from neurigraph_pipelines.views.facts import Belief, BroughtFacts, Fact, FactHistory, FactWithPlaces, StatedFact, UndoneDecisions
    from neurigraph_pipelines.views.failures import Failure, Replay
    from neurigraph_pipelines.views.files import File, NodeFiles, UnstoredMessages
    from neurigraph_pipelines.views.graph import CreatedNode, GraphChange, ListedNode, NodeProfile, Shell, TreePage
    from neurigraph_pipelines.views.inbox import Added, Appended, Conversation, Ended, Event, EventEnded, Note
    from neurigraph_pipelines.views.links import Link, SigningKey, WrittenLink
    from neurigraph_pipelines.views.memories import Delta, Difference, Memory
    from neurigraph_pipelines.views.mirrors import OfferedNodes, OfferedRecords
    from neurigraph_pipelines.views.organizations import Deleted, Departure, Invitation, InvitationWithCode, Invitations, Member, MemberKey, Members, Organization, OrganizationWithKey, Organizations
    from neurigraph_pipelines.views.profiles import PersonProfile, PromptContext
    from neurigraph_pipelines.views.quarantines import Quarantine, QuarantinePreview, Suggestions
    from neurigraph_pipelines.views.records import ListedRecord, Record
    from neurigraph_pipelines.views.retention import ArchiveChange, Archived, Purge, Retention
    from neurigraph_pipelines.views.search import Duplicates, Found
    from neurigraph_pipelines.views.sources import ConversationState, EventState, ListedConversation, ListedEvent, ListedNote, ListedUpload, NoteState, Upload
    from neurigraph_pipelines.views.spaces import SourceOfSpace, Space
    from neurigraph_pipelines.views.webhooks import Delivery, Replayed, Webhook, WebhookWithSecret, Webhooks


class InboxCalls(Group[W]):
    """Operations of the group ``inbox``."""

    @asked
    def add_memory(self, *, wait: float = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, origin: str | None = NOT_GIVEN, document_type: Literal["text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "notion_doc", "webpage", "onedrive", "repository", "document", "table", "audio", "code", "file", "conversation", "event", "note"] | None = NOT_GIVEN, url: str | None = NOT_GIVEN, channel: Literal["dm", "private", "public"] | None = NOT_GIVEN, author: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, updated_at: datetime | None = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, messages: Sequence[Given] | None = NOT_GIVEN, content: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, occurred_at: datetime | None = NOT_GIVEN, privacy: Literal["shared", "private"] | None = NOT_GIVEN) -> Steps[Added]:
        """Add a conversation that has ended, or a note. It can be found at once, and is stored in the background."""
        return answer("POST /v1/memories", "inbox.Added", locals(), body=True, query=("wait",), changes=True)

    @asked
    def open_conversation(self, *, origin: str | None = NOT_GIVEN, document_type: Literal["text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "notion_doc", "webpage", "onedrive", "repository", "document", "table", "audio", "code", "file", "conversation", "event", "note"] | None = NOT_GIVEN, url: str | None = NOT_GIVEN, channel: Literal["dm", "private", "public"] | None = NOT_GIVEN, author: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, updated_at: datetime | None = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, replaces: UUID | None = NOT_GIVEN, title: str | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, started_at: datetime | None = NOT_GIVEN, privacy: Literal["shared", "private"] | None = NOT_GIVEN) -> Steps[Conversation]:
        """Open a conversation, or return the existing one with the same `external_id`."""
        return answer("POST /v1/conversations", "inbox.Conversation", locals(), body=True, changes=True)

    @listed
    def list_conversations(self, *, state: Literal["open", "waiting", "storing", "stored", "failed"] | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN, started_after: datetime | None = NOT_GIVEN, started_before: datetime | None = NOT_GIVEN, upload_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedConversation]:
        """List conversations with their states, the last received first. A persona sees its own."""
        return pages("GET /v1/conversations", "conversations", "sources.ListedConversation", locals())

    @asked
    def append_messages(self, conversation_id: UUID, messages: Sequence[Given]) -> Steps[Appended]:
        """Append messages in the order given."""
        return answer("POST /v1/conversations/{conversation_id}/messages", "inbox.Appended", locals(), body=True, changes=True)

    @asked
    def end_conversation(self, conversation_id: UUID, *, ended_at: datetime | None = NOT_GIVEN) -> Steps[Ended]:
        """End a conversation. Ending it again changes nothing and returns the time of its first end."""
        return answer("POST /v1/conversations/{conversation_id}/end", "inbox.Ended", locals(), body=True, changes=True)

    @asked
    def open_event(self, kind: Literal["meeting", "call", "work_session", "milestone"], title: str, *, origin: str | None = NOT_GIVEN, document_type: Literal["text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "notion_doc", "webpage", "onedrive", "repository", "document", "table", "audio", "code", "file", "conversation", "event", "note"] | None = NOT_GIVEN, url: str | None = NOT_GIVEN, channel: Literal["dm", "private", "public"] | None = NOT_GIVEN, author: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, updated_at: datetime | None = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, replaces: UUID | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, started_at: datetime | None = NOT_GIVEN, privacy: Literal["shared", "private"] | None = NOT_GIVEN, messages: Sequence[Mapping[str, Any]] = NOT_GIVEN) -> Steps[Event]:
        """Open an event, or return the existing one with the same `external_id`, and append the messages so far."""
        return answer("POST /v1/events", "inbox.Event", locals(), body=True, changes=True)

    @listed
    def list_events(self, *, state: Literal["open", "waiting", "storing", "stored", "failed"] | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN, started_after: datetime | None = NOT_GIVEN, started_before: datetime | None = NOT_GIVEN, upload_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedEvent]:
        """List events with their states, the last received first. A persona sees its own."""
        return pages("GET /v1/events", "events", "sources.ListedEvent", locals())

    @asked
    def append_to_event(self, event_id: UUID, messages: Sequence[Mapping[str, Any]]) -> Steps[Appended]:
        """Append messages in the order given. They can be found once the event has ended and is stored."""
        return answer("POST /v1/events/{event_id}/messages", "inbox.Appended", locals(), body=True, changes=True)

    @asked
    def end_event(self, event_id: UUID, *, ended_at: datetime | None = NOT_GIVEN) -> Steps[EventEnded]:
        """End an event, which is stored as one memory, whatever its length. Ending it again changes nothing."""
        return answer("POST /v1/events/{event_id}/end", "inbox.EventEnded", locals(), body=True, changes=True)

    @asked
    def remember(self, content: str, *, origin: str | None = NOT_GIVEN, document_type: Literal["text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "notion_doc", "webpage", "onedrive", "repository", "document", "table", "audio", "code", "file", "conversation", "event", "note"] | None = NOT_GIVEN, url: str | None = NOT_GIVEN, channel: Literal["dm", "private", "public"] | None = NOT_GIVEN, author: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, updated_at: datetime | None = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, title: str | None = NOT_GIVEN, path: str | None = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, importance: float | None = NOT_GIVEN, priority: int | None = NOT_GIVEN, tags: Sequence[str] = NOT_GIVEN, on_conflict: Literal["error", "version", "supersede"] = NOT_GIVEN, replaces: UUID | None = NOT_GIVEN, privacy: Literal["shared", "private"] | None = NOT_GIVEN) -> Steps[Note]:
        """Write a note, which is remembered as it is. It is stored in the background."""
        return answer("POST /v1/notes", "inbox.Note", locals(), body=True, changes=True)

    @listed
    def list_notes(self, *, state: Literal["open", "waiting", "storing", "stored", "failed"] | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN, started_after: datetime | None = NOT_GIVEN, started_before: datetime | None = NOT_GIVEN, upload_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedNote]:
        """List notes with their states, the last received first. A persona sees its own."""
        return pages("GET /v1/notes", "notes", "sources.ListedNote", locals())

    @asked
    def conversation_state(self, conversation_id: UUID, *, wait: float = NOT_GIVEN) -> Steps[ConversationState]:
        """Return the state of a conversation, and the memories that it became."""
        return answer("GET /v1/conversations/{conversation_id}", "sources.ConversationState", locals())

    @asked
    def share_conversation(self, conversation_id: UUID, privacy: Literal["shared", "private"], *, etag: str | None = None) -> Steps[None]:
        """Make a conversation and all memories from it private, or share them again. Only the owner may do so."""
        return answer("PATCH /v1/conversations/{conversation_id}", "", locals(), body=True, changes=True)

    @asked
    def event_state(self, event_id: UUID, *, wait: float = NOT_GIVEN) -> Steps[EventState]:
        """Return the state of an event, and the memories that it became."""
        return answer("GET /v1/events/{event_id}", "sources.EventState", locals())

    @asked
    def share_event(self, event_id: UUID, privacy: Literal["shared", "private"], *, etag: str | None = None) -> Steps[None]:
        """Make an event and all memories from it private, or share them again. Only the owner may do so."""
        return answer("PATCH /v1/events/{event_id}", "", locals(), body=True, changes=True)

    @asked
    def note_state(self, note_id: UUID, *, wait: float = NOT_GIVEN) -> Steps[NoteState]:
        """Return the state of a note, and the memories that it became."""
        return answer("GET /v1/notes/{note_id}", "sources.NoteState", locals())

    @asked
    def share_note(self, note_id: UUID, privacy: Literal["shared", "private"], *, etag: str | None = None) -> Steps[None]:
        """Make a note and all memories from it private, or share them again. Only the owner may do so."""
        return answer("PATCH /v1/notes/{note_id}", "", locals(), body=True, changes=True)

    @listed
    def list_uploads(self, *, state: Literal["open", "waiting", "storing", "stored", "failed"] | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN, started_after: datetime | None = NOT_GIVEN, started_before: datetime | None = NOT_GIVEN, upload_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedUpload]:
        """List uploads with their states, the last received first."""
        return pages("GET /v1/uploads", "uploads", "sources.ListedUpload", locals())

    @asked
    def upload_state(self, upload_id: UUID, *, wait: float = NOT_GIVEN) -> Steps[Upload]:
        """Return the state of an upload, and the memories that it became."""
        return answer("GET /v1/uploads/{upload_id}", "sources.Upload", locals())

    @asked
    def share_upload(self, upload_id: UUID, privacy: Literal["shared", "private"], *, etag: str | None = None) -> Steps[None]:
        """Make an upload and all memories from it private, or share them again, as the owner or the member who sent it."""
        return answer("PATCH /v1/uploads/{upload_id}", "", locals(), body=True, changes=True)


class RetrievalCalls(Group[W]):
    """Operations of the group ``retrieval``."""

    @asked
    def search(self, query: str, *, node_id: UUID | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, at: datetime | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, source_kinds: Sequence[Literal["conversation", "event", "upload", "note"]] = NOT_GIVEN, speaker: str | None = NOT_GIVEN, include_superseded: bool = NOT_GIVEN, asked_at: datetime | None = NOT_GIVEN, limit: int = NOT_GIVEN, message_limit: int = NOT_GIVEN, explain: bool = NOT_GIVEN, include: Sequence[Literal["facts"]] = NOT_GIVEN) -> Steps[Found]:
        """Search memories and messages for a question. No file is opened."""
        return answer("POST /v1/search", "search.Found", locals(), body=True)

    @asked
    def duplicates(self, text: str, *, limit: int = NOT_GIVEN) -> Steps[Duplicates]:
        """Find facts and messages that say the same as a text, before the text is written. Nothing is written."""
        return answer("POST /v1/duplicates", "search.Duplicates", locals(), body=True)

    @asked
    def walk_facts(self, *, query: str | None = NOT_GIVEN, kind: Literal["search", "why", "changed", "about", "connected"] = NOT_GIVEN, fact_id: UUID | None = NOT_GIVEN, max_hops: int | None = NOT_GIVEN, traverse_types: Sequence[str] = NOT_GIVEN, min_strength: float = NOT_GIVEN, time_range: Mapping[str, Any] | None = NOT_GIVEN, who: Sequence[str] = NOT_GIVEN, status: Sequence[Literal["active", "superseded", "disputed", "archived"]] = NOT_GIVEN, at: datetime | None = NOT_GIVEN, valid_at: datetime | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, include_graph: bool = NOT_GIVEN, max_nodes: int = NOT_GIVEN) -> Steps[QueriedFacts]:
        """Follow the links of facts to causes, versions or connected facts, and return them with their paths."""
        return answer("POST /v1/facts/query", "fact_queries.QueriedFacts", locals(), body=True)

    @asked
    def ask(self, query: str, *, node_id: UUID | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, at: datetime | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, source_kinds: Sequence[Literal["conversation", "event", "upload", "note"]] = NOT_GIVEN, speaker: str | None = NOT_GIVEN, include_superseded: bool = NOT_GIVEN, asked_at: datetime | None = NOT_GIVEN) -> Steps[Reply]:
        """Answer a question in words, with citations. Only the messages that may hold the answer are read."""
        return answer("POST /v1/ask", "answers.Reply", locals(), body=True)

    @asked
    def context(self, *, node_id: UUID | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, query: str | None = NOT_GIVEN, messages: Sequence[Mapping[str, Any]] | None = NOT_GIVEN, budget: int = NOT_GIVEN, format: Literal["text", "messages", "json"] = NOT_GIVEN, asked_at: datetime | None = NOT_GIVEN) -> Steps[PromptContext]:
        """Make the block of memory for a prompt: who the user is, then what concerns the question, within a budget."""
        return answer("POST /v1/context", "profiles.PromptContext", locals(), body=True)

    @asked
    def get_profile(self, *, name: str | None = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Steps[PersonProfile]:
        """Return what holds about the owner or another person, in sections, each statement with its source."""
        return answer("GET /v1/profile", "profiles.PersonProfile", locals())

    @asked
    def unstored(self, source_id: UUID, *, from_message: int = NOT_GIVEN, limit: int = NOT_GIVEN) -> Steps[UnstoredMessages]:
        """Read the messages of a conversation, event, upload or note that are not stored yet: no file has them."""
        return answer("GET /v1/unstored/{source_id}", "files.UnstoredMessages", locals())


class UsersCalls(Group[W]):
    """Operations of the group ``users``."""

    @asked
    def list(self) -> Steps[Users]:
        """List the users of the installation by name, each with the database that they live in."""
        return answer("GET /v1/users", "access.Users", locals())

    @asked
    def create(self, slug: str, *, database: str | None = NOT_GIVEN) -> Steps[CreatedUser]:
        """Create a user, the root node of their graph and a first API key. The key is shown only here."""
        return answer("POST /v1/users", "access.CreatedUser", locals(), body=True, once=True)

    @asked
    def get_identity(self) -> Steps[Identity]:
        """Say for whom you act, what you see and what you may change."""
        return answer("GET /v1/identity", "access.Identity", locals())

    @asked
    def get_account(self) -> Steps[Account]:
        """Return the profile that the user states."""
        return answer("GET /v1/account", "access.Account", locals())

    @asked
    def change_account(self, *, display_name: str | None = NOT_GIVEN, email: str | None = NOT_GIVEN, metadata: Mapping[str, Any] | None = NOT_GIVEN) -> Steps[Account]:
        """Change the stated profile. Only the user sees it."""
        return answer("PATCH /v1/account", "access.Account", locals(), body=True, changes=True)

    @asked
    def set_password(self, password: str) -> Steps[None]:
        """Set the password that opens the page. All who signed in with the old one are signed out."""
        return answer("PUT /v1/account/password", "", locals(), body=True)

    @asked
    def remove_password(self) -> Steps[None]:
        """Remove the password. Only keys open the page then."""
        return answer("DELETE /v1/account/password", "", locals(), changes=True)

    @asked
    def sign_in(self, user: str, password: str) -> Steps[SignedIn]:
        """Exchange a name and a password for a key that expires after twelve hours."""
        return answer("POST /v1/sign-in", "access.SignedIn", locals(), body=True, once=True)


class FilesCalls(Group[W]):
    """Operations of the group ``files``."""

    @asked
    def state(self, file_id: UUID) -> Steps[File]:
        """Return the state of a file, with its history. This does not count as an access."""
        return answer("GET /v1/files/{file_id}", "files.File", locals())

    @asked
    def touch(self, file_id: UUID) -> Steps[File]:
        """Reset the dormancy clock of a file, as opening it does. A dormant file stays dormant."""
        return answer("POST /v1/files/{file_id}/touch", "files.File", locals(), changes=True)

    @asked
    def compress(self, file_id: UUID) -> Steps[File]:
        """Make a file dormant now. Nothing happens if it is dormant already."""
        return answer("POST /v1/files/{file_id}/compress", "files.File", locals(), changes=True)


class GraphCalls(Group[W]):
    """Operations of the group ``graph``."""

    @asked
    def tree(self, *, limit: int = NOT_GIVEN, cursor: str | None = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Steps[TreePage]:
        """Return the graph from the root down; for a persona or a third party, the nodes that they may read."""
        return answer("GET /v1/tree", "graph.TreePage", locals())

    @listed
    def list_nodes(self, *, path: str | None = NOT_GIVEN, name: str | None = NOT_GIVEN, parent_node_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedNode]:
        """List nodes, parents before their children. Without filters the pages hold the whole graph."""
        return pages("GET /v1/nodes", "nodes", "graph.ListedNode", locals())

    @asked
    def provision(self, parent_node_id: UUID, name: str, *, node_type: Literal["concept", "persona"] = NOT_GIVEN, kind: Literal["user", "topic", "person", "project", "organization", "place", "thing"] = NOT_GIVEN, summary: str = NOT_GIVEN, writes: bool = NOT_GIVEN) -> Steps[CreatedNode]:
        """Create a node: a concept, or a persona that can have keys and grants of its own."""
        return answer("POST /v1/nodes", "graph.CreatedNode", locals(), body=True, changes=True)

    @asked
    def shell(self, node_id: UUID) -> Steps[Shell]:
        """Return the shell of a node: identity, state, profile, children and edges."""
        return answer("GET /v1/nodes/{node_id}", "graph.Shell", locals())

    @asked
    def change_node(self, node_id: UUID, *, name: str | None = NOT_GIVEN, parent_node_id: UUID | None = NOT_GIVEN, dry_run: bool = True, etag: str | None = None) -> Steps[GraphChange]:
        """Rename a node, which keeps its old name as an alias, or move it with all nodes below it."""
        return answer("PATCH /v1/nodes/{node_id}", "graph.GraphChange", locals(), body=True, changes=True)

    @asked
    def profile(self, node_id: UUID) -> Steps[NodeProfile]:
        """Return the themes of a node's memories, and the difference between the newest and the earlier ones."""
        return answer("GET /v1/nodes/{node_id}/profile", "graph.NodeProfile", locals())

    @asked
    def node_state(self, node_id: UUID) -> Steps[NodeFiles]:
        """Return the states of a node's files and the bytes that they occupy."""
        return answer("GET /v1/nodes/{node_id}/state", "files.NodeFiles", locals())

    @listed
    def records(self, node_id: UUID, *, limit: int = NOT_GIVEN) -> Pages[Record]:
        """List the records of one node, newest first."""
        return pages("GET /v1/nodes/{node_id}/records", "records", "records.Record", locals())

    @asked
    def move_record(self, record_id: UUID, node_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Steps[GraphChange]:
        """Move a record to another node, with its file, its history and its state."""
        return answer("POST /v1/records/{record_id}/move", "graph.GraphChange", locals(), body=True, changes=True)

    @asked
    def move_records(self, node_id: UUID, record_ids: Sequence[UUID], *, dry_run: bool = True) -> Steps[GraphChange]:
        """Move records to another node, with their files, history and states. Either all are moved or none."""
        return answer("POST /v1/records/move", "graph.GraphChange", locals(), body=True, changes=True)

    @asked
    def merge(self, node_id: UUID, into_node_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Steps[GraphChange]:
        """Move the records, children, edges and names of this node into another, and remove this node."""
        return answer("POST /v1/nodes/{node_id}/merge", "graph.GraphChange", locals(), body=True, changes=True)

    @asked
    def split(self, node_id: UUID, name: str, *, kind: Literal["user", "topic", "person", "project", "organization", "place", "thing"] = NOT_GIVEN, beside: bool = NOT_GIVEN, record_ids: Sequence[UUID] | None = NOT_GIVEN, keyword: str | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, dry_run: bool = True, etag: str | None = None) -> Steps[GraphChange]:
        """Move some records of a node to a new node."""
        return answer("POST /v1/nodes/{node_id}/split", "graph.GraphChange", locals(), body=True, changes=True)

    @listed
    def mentions(self, node_id: UUID, *, role: Literal["mention", "subject", "author", "owner", "assignee", "component"] | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Mention]:
        """List the memories that speak of a node, the last stored first."""
        return pages("GET /v1/nodes/{node_id}/mentions", "mentions", "evidence.Mention", locals())

    @listed
    def evidence(self, edge_id: UUID, *, limit: int = NOT_GIVEN) -> Pages[EdgeEvidence]:
        """Return an edge with its evidence, the newest first."""
        return pages("GET /v1/edges/{edge_id}/evidence", "evidence", "evidence.EdgeEvidence", locals())

    @asked
    def state_evidence(self, edge_id: UUID, stance: Literal["asserts", "ends", "denies"], *, valid_from: datetime | None = NOT_GIVEN, valid_until: datetime | None = NOT_GIVEN) -> Steps[StatedEvidence]:
        """State by hand that an edge holds, has ended, or never was. Only the owner may, and only the owner sees it."""
        return answer("POST /v1/edges/{edge_id}/evidence", "evidence.StatedEvidence", locals(), body=True, changes=True)

    @asked
    def take_back_evidence(self, edge_id: UUID, evidence_id: UUID) -> Steps[None]:
        """Take back a statement made by hand about an edge. A memory's statements go with the memory."""
        return answer("DELETE /v1/edges/{edge_id}/evidence/{evidence_id}", "", locals(), changes=True)

    @listed
    def list_aliases(self, node_id: UUID, *, limit: int = NOT_GIVEN) -> Pages[ListedAlias]:
        """List the other names and ids of a node, the oldest first."""
        return pages("GET /v1/nodes/{node_id}/aliases", "aliases", "evidence.ListedAlias", locals())

    @asked
    def give_alias(self, node_id: UUID, value: str, *, type: Literal["name", "former_name", "email", "handle", "phone", "url", "external"] = NOT_GIVEN, verified: bool = NOT_GIVEN) -> Steps[NodeAlias]:
        """Give a node another name or an id, which stands until somebody removes it."""
        return answer("POST /v1/nodes/{node_id}/aliases", "evidence.NodeAlias", locals(), body=True, changes=True)

    @asked
    def remove_alias(self, node_id: UUID, value: str, *, type: Literal["name", "former_name", "email", "handle", "phone", "url", "external"] | None = NOT_GIVEN) -> Steps[RemovedAliases]:
        """Remove a name or an id of a node. Memories that use a name may add it again."""
        return answer("DELETE /v1/nodes/{node_id}/aliases", "evidence.RemovedAliases", locals(), changes=True)

    @listed
    def find_aliases(self, value: str, *, type: Literal["name", "former_name", "email", "handle", "phone", "url", "external"] | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[ListedAlias]:
        """Find the visible nodes that have a name as an alias, or an id."""
        return pages("GET /v1/aliases", "aliases", "evidence.ListedAlias", locals())


class ForgettingCalls(Group[W]):
    """Operations of the group ``forgetting``."""

    @asked
    def forget_node(self, node_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Steps[ErasureWithObjects | ErasurePreview]:
        """Erase a node, all nodes below it and their records, permanently. Repeating the call returns the same receipt."""
        return answer("DELETE /v1/nodes/{node_id}", "erasures.ErasureWithObjects | erasures.ErasurePreview", locals(), changes=True)

    @asked
    def forget_record(self, record_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Steps[ErasureWithObjects | ErasurePreview]:
        """Erase a record and everything derived from it, permanently. Repeating the call returns the same receipt."""
        return answer("DELETE /v1/records/{record_id}", "erasures.ErasureWithObjects | erasures.ErasurePreview", locals(), changes=True)

    @asked
    def forget_fact(self, fact_id: UUID, *, dry_run: bool = True) -> Steps[ErasureWithObjects | ErasurePreview]:
        """Erase a fact, permanently, so that its memory does not state it again. Repeating the call returns the receipt."""
        return answer("DELETE /v1/facts/{fact_id}", "erasures.ErasureWithObjects | erasures.ErasurePreview", locals(), changes=True)

    @asked
    def forget_user(self, user_id: UUID, *, dry_run: bool = True) -> Steps[ErasureWithObjects | ErasurePreview]:
        """Erase the calling user and all their data, keys included, permanently."""
        return answer("DELETE /v1/users/{user_id}", "erasures.ErasureWithObjects | erasures.ErasurePreview", locals(), changes=True)

    @listed
    def list_erasures(self, *, limit: int = NOT_GIVEN) -> Pages[Erasure]:
        """List the receipts of the caller's erasures, newest first."""
        return pages("GET /v1/erasures", "erasures", "erasures.Erasure", locals())


class MemoriesCalls(Group[W]):
    """Operations of the group ``memories``."""

    @listed
    def list_records(self, *, node_id: UUID | None = NOT_GIVEN, below: bool = NOT_GIVEN, source_id: UUID | None = NOT_GIVEN, created_after: datetime | None = NOT_GIVEN, created_before: datetime | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, content_type: Literal["conversation", "event", "file_upload", "note", "other"] | None = NOT_GIVEN, superseded: bool | None = NOT_GIVEN, entity: str | None = NOT_GIVEN, topic: str | None = NOT_GIVEN, limit: int = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedRecord]:
        """List memories of the whole graph, the last stored first."""
        return pages("GET /v1/records", "records", "records.ListedRecord", locals())

    @asked
    def get(self, record_id: UUID, *, at: datetime | None = NOT_GIVEN) -> Steps[Memory]:
        """Return one memory, in its present version or the version of a moment."""
        return answer("GET /v1/records/{record_id}", "memories.Memory", locals())

    @asked
    def revise(self, record_id: UUID, *, title: str | None = NOT_GIVEN, summary: str | None = NOT_GIVEN, entities: Sequence[str] | None = NOT_GIVEN, topics: Sequence[str] | None = NOT_GIVEN, dates: Sequence[str] | None = NOT_GIVEN, relationships: Sequence[str] | None = NOT_GIVEN, etag: str | None = None) -> Steps[Memory]:
        """Change the title, summary or keywords of a memory. Its files do not change."""
        return answer("PATCH /v1/records/{record_id}", "memories.Memory", locals(), body=True, changes=True)

    @listed
    def deltas(self, record_id: UUID, *, limit: int = NOT_GIVEN) -> Pages[Delta]:
        """List all changes of a memory, newest first."""
        return pages("GET /v1/records/{record_id}/history", "deltas", "memories.Delta", locals())

    @asked
    def difference(self, record_id: UUID, from_at: datetime, *, to_at: datetime | None = NOT_GIVEN) -> Steps[Difference]:
        """Compare a memory at two moments."""
        return answer("GET /v1/records/{record_id}/diff", "memories.Difference", locals())

    @asked
    def supersede(self, record_id: UUID, by: UUID | None, *, etag: str | None = None) -> Steps[Memory]:
        """Mark a memory as replaced by a newer one, or undo that with null."""
        return answer("POST /v1/records/{record_id}/supersede", "memories.Memory", locals(), body=True, changes=True)


class FactsCalls(Group[W]):
    """Operations of the group ``facts``."""

    @listed
    def list(self, *, node_id: UUID | None = NOT_GIVEN, below: bool = NOT_GIVEN, kind: Literal["event", "state", "preference", "plan", "decision", "commitment", "relation", "quantity", "other"] | None = NOT_GIVEN, record_id: UUID | None = NOT_GIVEN, who: str | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, superseded: bool | None = NOT_GIVEN, status: Literal["active", "superseded", "disputed", "archived"] | None = NOT_GIVEN, tag: Sequence[str] | None = NOT_GIVEN, forgotten: bool = NOT_GIVEN, limit: int = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Pages[Fact]:
        """List facts of the whole graph, newest first."""
        return pages("GET /v1/facts", "facts", "facts.Fact", locals())

    @asked
    def state(self, statement: str, *, kind: Literal["event", "state", "preference", "plan", "decision", "commitment", "relation", "quantity", "other"] | None = NOT_GIVEN, stated_as: Literal["statement", "inference", "observation"] | None = NOT_GIVEN, who: Sequence[str] | None = NOT_GIVEN, where: str | None = NOT_GIVEN, why: str | None = NOT_GIVEN, how: str | None = NOT_GIVEN, subject: str | None = NOT_GIVEN, predicate: str | None = NOT_GIVEN, object: str | None = NOT_GIVEN, occurred_from: datetime | None = NOT_GIVEN, occurred_until: datetime | None = NOT_GIVEN, expires_at: datetime | None = NOT_GIVEN, importance: float | None = NOT_GIVEN, impact: Literal["high", "medium", "low"] | None = NOT_GIVEN, pinned: bool | None = NOT_GIVEN, tags: Sequence[str] | None = NOT_GIVEN, metadata: Mapping[str, Any] | None = NOT_GIVEN, valid_until: datetime | None = NOT_GIVEN, forget_after: datetime | None = NOT_GIVEN, path: str | None = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, privacy: Literal["shared", "private"] = NOT_GIVEN) -> Steps[StatedFact]:
        """State a fact by hand. It is a note whose memory carries exactly this fact, stored in the background."""
        return answer("POST /v1/facts", "facts.StatedFact", locals(), body=True, changes=True)

    @asked
    def of_record(self, record_id: UUID, *, limit: int = NOT_GIVEN, cursor: str | None = NOT_GIVEN) -> Steps[BroughtFacts]:
        """List the facts of one memory, the new ones among them, and their links and conflicts with known facts."""
        return answer("GET /v1/records/{record_id}/facts", "facts.BroughtFacts", locals())

    @listed
    def of_node(self, node_id: UUID, *, below: bool = NOT_GIVEN, limit: int = NOT_GIVEN, space: Sequence[str] | None = NOT_GIVEN) -> Pages[Fact]:
        """List the facts of the memories in a node, newest first."""
        return pages("GET /v1/nodes/{node_id}/facts", "facts", "facts.Fact", locals())

    @asked
    def get(self, fact_id: UUID) -> Steps[FactWithPlaces]:
        """Return a fact with where it was said: memories, sources and messages, and through which door they came."""
        return answer("GET /v1/facts/{fact_id}", "facts.FactWithPlaces", locals())

    @asked
    def change(self, fact_id: UUID, *, kind: Literal["event", "state", "preference", "plan", "decision", "commitment", "relation", "quantity", "other"] | None = NOT_GIVEN, stated_as: Literal["statement", "inference", "observation"] | None = NOT_GIVEN, who: Sequence[str] | None = NOT_GIVEN, where: str | None = NOT_GIVEN, why: str | None = NOT_GIVEN, how: str | None = NOT_GIVEN, subject: str | None = NOT_GIVEN, predicate: str | None = NOT_GIVEN, object: str | None = NOT_GIVEN, occurred_from: datetime | None = NOT_GIVEN, occurred_until: datetime | None = NOT_GIVEN, expires_at: datetime | None = NOT_GIVEN, importance: float | None = NOT_GIVEN, impact: Literal["high", "medium", "low"] | None = NOT_GIVEN, pinned: bool | None = NOT_GIVEN, tags: Sequence[str] | None = NOT_GIVEN, metadata: Mapping[str, Any] | None = NOT_GIVEN, valid_until: datetime | None = NOT_GIVEN, forget_after: datetime | None = NOT_GIVEN, statement: str | None = NOT_GIVEN) -> Steps[FactWithPlaces | StatedFact]:
        """Change a fact. New words are its next version, as a note; tags, metadata, pins and times apply at once."""
        return answer("PATCH /v1/facts/{fact_id}", "facts.FactWithPlaces | facts.StatedFact", locals(), body=True, changes=True)

    @asked
    def history(self, fact_id: UUID) -> Steps[FactHistory]:
        """Return the versions of a fact, with each change of them and its author."""
        return answer("GET /v1/facts/{fact_id}/history", "facts.FactHistory", locals())

    @asked
    def get_belief(self, fact_id: UUID) -> Steps[Belief]:
        """Return the current version of a fact and the facts that conflict with it. Only the owner sees `belief`."""
        return answer("GET /v1/facts/{fact_id}/belief", "facts.Belief", locals())

    @asked
    def retract(self, fact_id: UUID) -> Steps[None]:
        """Take a fact back. It is archived, and the version that it superseded stands again."""
        return answer("POST /v1/facts/{fact_id}/retract", "", locals(), changes=True)

    @asked
    def confirm(self, fact_id: UUID) -> Steps[None]:
        """Confirm that a fact holds, even if it was retracted or disputed."""
        return answer("POST /v1/facts/{fact_id}/confirm", "", locals(), changes=True)

    @asked
    def undo_decisions(self, fact_id: UUID, *, other_fact_id: UUID | None = NOT_GIVEN) -> Steps[UndoneDecisions]:
        """Undo the results of comparing a fact with others: supersessions in both directions, and disputes."""
        return answer("POST /v1/facts/{fact_id}/undo", "facts.UndoneDecisions", locals(), changes=True)


class DigestsCalls(Group[W]):
    """Operations of the group ``digests``."""

    @listed
    def list(self, *, node_id: UUID | None = NOT_GIVEN, record_id: UUID | None = NOT_GIVEN, days: Literal["7", "30", "90"] | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Digest]:
        """List digests, newest first. A caller sees a digest who may read all memories that it is made from."""
        return pages("GET /v1/digests", "digests", "digests.Digest", locals())

    @asked
    def make(self, record_ids: Sequence[UUID]) -> Steps[Digest]:
        """Put some memories into words. The same memories again give the digest that is there."""
        return answer("POST /v1/digests", "digests.Digest", locals(), body=True, changes=True)

    @asked
    def get(self, digest_id: UUID) -> Steps[Digest]:
        """Return a digest, with the memories that it is derived from."""
        return answer("GET /v1/digests/{digest_id}", "digests.Digest", locals())

    @asked
    def remove(self, digest_id: UUID, *, dry_run: bool = True) -> Steps[RemovedDigest]:
        """Remove a digest. Its memories stay. The digest of a window is made again if digests are switched on."""
        return answer("DELETE /v1/digests/{digest_id}", "digests.RemovedDigest", locals(), changes=True)

    @listed
    def of_node(self, node_id: UUID, *, days: Literal["7", "30", "90"] | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Digest]:
        """List the digests of a node's windows, the last made first."""
        return pages("GET /v1/nodes/{node_id}/digests", "digests", "digests.Digest", locals())


class LinksCalls(Group[W]):
    """Operations of the group ``links``."""

    @listed
    def of_record(self, record_id: UUID, *, relation: str | None = NOT_GIVEN, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Link]:
        """List the links of a memory and of its facts, newest first, as far as you see both ends."""
        return pages("GET /v1/records/{record_id}/links", "links", "links.Link", locals())

    @listed
    def of_fact(self, fact_id: UUID, *, relation: str | None = NOT_GIVEN, all: bool = NOT_GIVEN, computed: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Link]:
        """List the links of a fact, newest first, as far as you see both ends."""
        return pages("GET /v1/facts/{fact_id}/links", "links", "links.Link", locals())

    @asked
    def state(self, relation: str, *, from_fact_id: UUID | None = NOT_GIVEN, from_record_id: UUID | None = NOT_GIVEN, to_fact_id: UUID | None = NOT_GIVEN, to_record_id: UUID | None = NOT_GIVEN, to_node_id: UUID | None = NOT_GIVEN, to_source_id: UUID | None = NOT_GIVEN, strength: float = NOT_GIVEN, confidence: float = NOT_GIVEN, reason: str | None = NOT_GIVEN, messages: Sequence[int] = NOT_GIVEN, valid_from: datetime | None = NOT_GIVEN, valid_until: datetime | None = NOT_GIVEN, signature: Mapping[str, Any] | None = NOT_GIVEN) -> Steps[WrittenLink]:
        """State a link. `led_to` is stored as `caused_by` from the other end; the same again changes nothing."""
        return answer("POST /v1/links", "links.WrittenLink", locals(), body=True, changes=True)

    @asked
    def get(self, link_id: UUID) -> Steps[Link]:
        """Return a link."""
        return answer("GET /v1/links/{link_id}", "links.Link", locals())

    @asked
    def end(self, link_id: UUID, *, valid_until: datetime | None = NOT_GIVEN, signature: Mapping[str, Any] | None = NOT_GIVEN) -> Steps[Link]:
        """End a link. The ended link stays, with the person who ended it, and can be stated again."""
        return answer("POST /v1/links/{link_id}/end", "links.Link", locals(), body=True, changes=True)

    @asked
    def confirm(self, link_id: UUID) -> Steps[Link]:
        """Confirm a link, even if it was rejected."""
        return answer("POST /v1/links/{link_id}/confirm", "links.Link", locals(), changes=True)

    @asked
    def reject(self, link_id: UUID) -> Steps[Link]:
        """Reject a link. It is not inferred again; the effects of a verdict on two facts are undone."""
        return answer("POST /v1/links/{link_id}/reject", "links.Link", locals(), changes=True)

    @listed
    def list_signing_keys(self, *, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[SigningKey]:
        """List public keys, newest first: the owner's list has all, others' has their own and keys of links they see."""
        return pages("GET /v1/signing-keys", "signing_keys", "links.SigningKey", locals())

    @asked
    def register_signing_key(self, public_key: str, *, peer: str | None = NOT_GIVEN) -> Steps[SigningKey]:
        """Register the public key with which you sign links. The private key stays with you."""
        return answer("POST /v1/signing-keys", "links.SigningKey", locals(), body=True, changes=True)

    @asked
    def rotate_signing_key(self, signing_key_id: UUID, public_key: str) -> Steps[SigningKey]:
        """Replace a key. Signatures of the old key still count, and the old key signs no more."""
        return answer("POST /v1/signing-keys/{signing_key_id}/rotate", "links.SigningKey", locals(), body=True, changes=True)

    @asked
    def revoke_signing_key(self, signing_key_id: UUID) -> Steps[SigningKey]:
        """Revoke a key: links that it signed are shown as unsigned from now on. Revoking it again changes nothing."""
        return answer("DELETE /v1/signing-keys/{signing_key_id}", "links.SigningKey", locals(), changes=True)


class AccessCalls(Group[W]):
    """Operations of the group ``access``."""

    @asked
    def issue_key(self, *, persona_id: UUID | None = NOT_GIVEN, third_party: str | None = NOT_GIVEN, label: str = NOT_GIVEN, expires_at: datetime | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN) -> Steps[IssuedKey]:
        """Issue a key for the user, a persona or a third party."""
        return answer("POST /v1/keys", "access.IssuedKey", locals(), body=True, once=True)

    @listed
    def list_keys(self, *, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Key]:
        """List the keys of the graph without their secrets, newest first."""
        return pages("GET /v1/keys", "keys", "access.Key", locals())

    @asked
    def rotate_key(self, key_id: UUID, *, grace_seconds: float = NOT_GIVEN) -> Steps[IssuedKey]:
        """Issue a key that replaces another. The old key stays valid for `grace_seconds`."""
        return answer("POST /v1/keys/{key_id}/rotate", "access.IssuedKey", locals(), body=True, once=True)

    @asked
    def revoke_key(self, key_id: UUID) -> Steps[Key]:
        """Revoke a key, which is rejected from the next call on. Revoking it again changes nothing."""
        return answer("DELETE /v1/keys/{key_id}", "access.Key", locals(), changes=True)

    @asked
    def list_personas(self) -> Steps[Personas]:
        """List the personas of the graph, by path."""
        return answer("GET /v1/personas", "access.Personas", locals())

    @asked
    def grant(self, node_id: UUID, *, persona_id: UUID | None = NOT_GIVEN, third_party: str | None = NOT_GIVEN, grant_type: Literal["read", "read_write"] = NOT_GIVEN, expires_at: datetime | None = NOT_GIVEN) -> Steps[Grant]:
        """Grant a persona or a third party access to exactly one node."""
        return answer("POST /v1/grants", "access.Grant", locals(), body=True, changes=True)

    @listed
    def list_grants(self, *, node_id: UUID | None = NOT_GIVEN, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Grant]:
        """List the grants of the graph or of one node, newest first."""
        return pages("GET /v1/grants", "grants", "access.Grant", locals())

    @asked
    def preview_grant(self, node_id: UUID) -> Steps[GrantPreview]:
        """Return the memories that a grant on a node would open, and which of them look foreign to it."""
        return answer("GET /v1/grants/preview", "access.GrantPreview", locals())

    @asked
    def revoke(self, grant_id: UUID) -> Steps[Grant]:
        """Revoke a grant, which ends with the next statement. Revoking it again changes nothing."""
        return answer("DELETE /v1/grants/{grant_id}", "access.Grant", locals(), changes=True)


class OrganizationsCalls(Group[W]):
    """Operations of the group ``organizations``."""

    @asked
    def list(self) -> Steps[Organizations]:
        """List the organizations of the caller, by slug."""
        return answer("GET /v1/organizations", "organizations.Organizations", locals())

    @asked
    def create(self, slug: str, *, name: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN) -> Steps[OrganizationWithKey]:
        """Create an organization that the caller owns. The answer has a key of the caller for it, shown only here."""
        return answer("POST /v1/organizations", "organizations.OrganizationWithKey", locals(), body=True, once=True)

    @asked
    def get(self, organization_id: UUID) -> Steps[Organization]:
        """Return an organization of the caller."""
        return answer("GET /v1/organizations/{organization_id}", "organizations.Organization", locals())

    @asked
    def change(self, organization_id: UUID, *, name: str | None = NOT_GIVEN, metadata: Mapping[str, Any] | None = NOT_GIVEN) -> Steps[Organization]:
        """Change the name or the metadata of an organization, as its owner or admin."""
        return answer("PATCH /v1/organizations/{organization_id}", "organizations.Organization", locals(), body=True, changes=True)

    @asked
    def delete(self, organization_id: UUID, *, dry_run: bool = True) -> Steps[Deleted]:
        """Erase an organization with its graph, permanently, as its owner."""
        return answer("DELETE /v1/organizations/{organization_id}", "organizations.Deleted", locals(), changes=True)

    @asked
    def list_members(self, organization_id: UUID) -> Steps[Members]:
        """List the members of an organization, the first to join first."""
        return answer("GET /v1/organizations/{organization_id}/members", "organizations.Members", locals())

    @asked
    def change_member(self, organization_id: UUID, member_id: UUID, role: Literal["owner", "admin", "member"]) -> Steps[Member]:
        """Give a member another role, as an owner. There is always an owner."""
        return answer("PATCH /v1/organizations/{organization_id}/members/{member_id}", "organizations.Member", locals(), body=True, changes=True)

    @asked
    def remove_member(self, organization_id: UUID, member_id: UUID, *, forget: bool = NOT_GIVEN) -> Steps[Departure]:
        """Leave an organization, or remove a member. Access ends at once, and the member's private sources are erased."""
        return answer("DELETE /v1/organizations/{organization_id}/members/{member_id}", "organizations.Departure", locals(), changes=True)

    @asked
    def issue_member_key(self, organization_id: UUID, *, label: str = NOT_GIVEN) -> Steps[MemberKey]:
        """Issue another key of the caller's own membership. It is shown only here."""
        return answer("POST /v1/organizations/{organization_id}/keys", "organizations.MemberKey", locals(), body=True, once=True)

    @asked
    def invite(self, organization_id: UUID, *, role: Literal["owner", "admin", "member"] = NOT_GIVEN, label: str = NOT_GIVEN, invitee_id: UUID | None = NOT_GIVEN, hours: float = NOT_GIVEN) -> Steps[InvitationWithCode]:
        """Create an invitation: an admin for members, an owner for any role. The code is shown only here."""
        return answer("POST /v1/organizations/{organization_id}/invitations", "organizations.InvitationWithCode", locals(), body=True, once=True)

    @asked
    def list_invitations(self, organization_id: UUID, *, all: bool = NOT_GIVEN) -> Steps[Invitations]:
        """List the invitations of an organization, newest first. Members see none."""
        return answer("GET /v1/organizations/{organization_id}/invitations", "organizations.Invitations", locals())

    @asked
    def revoke_invitation(self, organization_id: UUID, invitation_id: UUID) -> Steps[Invitation]:
        """Revoke an invitation. Revoking it again changes nothing."""
        return answer("DELETE /v1/organizations/{organization_id}/invitations/{invitation_id}", "organizations.Invitation", locals(), changes=True)

    @asked
    def accept_invitation(self, code: str, *, label: str = NOT_GIVEN) -> Steps[OrganizationWithKey]:
        """Become a member with the code of an invitation. The answer has a key for the organization, shown only here."""
        return answer("POST /v1/invitations/accept", "organizations.OrganizationWithKey", locals(), body=True, once=True)


class SpacesCalls(Group[W]):
    """Operations of the group ``spaces``."""

    @asked
    def add(self, container_tag: str, *, name: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, entity_context: str | None = NOT_GIVEN) -> Steps[Space]:
        """Make a space. A tag that a write names for the first time makes one, too."""
        return answer("POST /v1/spaces", "spaces.Space", locals(), body=True, changes=True)

    @listed
    def list(self, *, limit: int = NOT_GIVEN) -> Pages[Space]:
        """List spaces, newest first. A key that is bound to spaces sees its spaces; a persona sees none."""
        return pages("GET /v1/spaces", "spaces", "spaces.Space", locals())

    @asked
    def get(self, space_id: UUID) -> Steps[Space]:
        """Return a space."""
        return answer("GET /v1/spaces/{space_id}", "spaces.Space", locals())

    @asked
    def change(self, space_id: UUID, *, name: str = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, entity_context: str | None = NOT_GIVEN) -> Steps[Space]:
        """Change a space."""
        return answer("PATCH /v1/spaces/{space_id}", "spaces.Space", locals(), body=True, changes=True)

    @asked
    def remove(self, space_id: UUID) -> Steps[Space]:
        """Remove a space, and return its last state. Its sources stay where they are."""
        return answer("DELETE /v1/spaces/{space_id}", "spaces.Space", locals(), changes=True)

    @listed
    def list_sources(self, space_id: UUID, *, limit: int = NOT_GIVEN) -> Pages[SourceOfSpace]:
        """List the sources of a space, the last added first."""
        return pages("GET /v1/spaces/{space_id}/sources", "sources", "spaces.SourceOfSpace", locals())

    @asked
    def add_sources(self, space_id: UUID, source_ids: Sequence[UUID]) -> Steps[Space]:
        """Put sources into a space, with all memories from them."""
        return answer("POST /v1/spaces/{space_id}/sources", "spaces.Space", locals(), body=True, changes=True)

    @asked
    def remove_source(self, space_id: UUID, source_id: UUID) -> Steps[Space]:
        """Take a source out of a space. It stays in the graph and in other spaces."""
        return answer("DELETE /v1/spaces/{space_id}/sources/{source_id}", "spaces.Space", locals(), changes=True)


class WebhooksCalls(Group[W]):
    """Operations of the group ``webhooks``."""

    @asked
    def list(self) -> Steps[Webhooks]:
        """List the caller's webhooks, oldest first."""
        return answer("GET /v1/webhooks", "webhooks.Webhooks", locals())

    @asked
    def add(self, url: str, *, events: Sequence[str] = NOT_GIVEN, path_glob: str | None = NOT_GIVEN, author: str | None = NOT_GIVEN) -> Steps[WebhookWithSecret]:
        """Add a webhook. The answer has its secret, which is not shown again."""
        return answer("POST /v1/webhooks", "webhooks.WebhookWithSecret", locals(), body=True, once=True)

    @asked
    def get(self, webhook_id: UUID) -> Steps[Webhook]:
        """Return a webhook, with how many deliveries wait, arrived and were given up."""
        return answer("GET /v1/webhooks/{webhook_id}", "webhooks.Webhook", locals())

    @asked
    def change(self, webhook_id: UUID, *, url: str = NOT_GIVEN, events: Sequence[str] = NOT_GIVEN, path_glob: str | None = NOT_GIVEN, author: str | None = NOT_GIVEN, state: Literal["active", "paused"] = NOT_GIVEN) -> Steps[Webhook]:
        """Change, pause or resume a webhook."""
        return answer("PATCH /v1/webhooks/{webhook_id}", "webhooks.Webhook", locals(), body=True, changes=True)

    @asked
    def remove(self, webhook_id: UUID) -> Steps[None]:
        """Remove a webhook with its deliveries."""
        return answer("DELETE /v1/webhooks/{webhook_id}", "", locals(), changes=True)

    @asked
    def test(self, webhook_id: UUID) -> Steps[Delivery]:
        """Send a `webhook.test` event at once, and return the result of its delivery."""
        return answer("POST /v1/webhooks/{webhook_id}/test", "webhooks.Delivery", locals(), changes=True)

    @asked
    def rotate(self, webhook_id: UUID) -> Steps[WebhookWithSecret]:
        """Give a webhook another secret. For a day messages are signed with both."""
        return answer("POST /v1/webhooks/{webhook_id}/rotate", "webhooks.WebhookWithSecret", locals(), once=True)

    @listed
    def list_deliveries(self, webhook_id: UUID, *, state: Literal["waiting", "delivered", "dead", "withheld"] | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Delivery]:
        """List the deliveries of a webhook, newest first."""
        return pages("GET /v1/webhooks/{webhook_id}/deliveries", "deliveries", "webhooks.Delivery", locals())

    @asked
    def replay_deliveries(self, webhook_id: UUID, *, delivery_id: UUID | None = NOT_GIVEN) -> Steps[Replayed]:
        """Send all dead deliveries again, or one finished delivery."""
        return answer("POST /v1/webhooks/{webhook_id}/replay", "webhooks.Replayed", locals(), body=True, changes=True)


class ActionsCalls(Group[W]):
    """Operations of the group ``actions``."""

    @listed
    def list(self, *, kind: Literal["store", "delete", "promote", "archive", "restore", "supersede", "link", "merge_nodes", "resolve", "digest", "move"] | None = NOT_GIVEN, state: Literal["open", "approved", "rejected", "executed", "failed", "expired"] = NOT_GIVEN, all: bool = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Action]:
        """List the actions that wait for a decision, as far as the caller may see them, newest first."""
        return pages("GET /v1/actions", "actions", "actions.Action", locals())

    @asked
    def request(self, kind: Literal["delete", "promote", "archive", "digest"], record_id: UUID) -> Steps[Action]:
        """Ask, as a persona, for a record to be deleted, promoted, archived, or put into words with those around it."""
        return answer("POST /v1/actions", "actions.Action", locals(), body=True, changes=True)

    @asked
    def get(self, action_id: UUID) -> Steps[Action]:
        """Return an action, with the text of the note that it holds."""
        return answer("GET /v1/actions/{action_id}", "actions.Action", locals())

    @asked
    def vote(self, action_id: UUID, approve: bool, *, second: bool = NOT_GIVEN) -> Steps[Action]:
        """Approve or reject an action. An action is carried out as soon as the last vote approves it."""
        return answer("POST /v1/actions/{action_id}/votes", "actions.Action", locals(), body=True, changes=True)

    @asked
    def standard(self, node_id: UUID) -> Steps[Standard]:
        """Return the standard that holds at a node, and where each field comes from."""
        return answer("GET /v1/nodes/{node_id}/standard", "actions.Standard", locals())

    @asked
    def set_standard(self, node_id: UUID, *, write: Literal["any", "registered", "owner", "approve"] | None = NOT_GIVEN, promote: Literal["any", "registered", "owner", "approve"] | None = NOT_GIVEN, delete: Literal["any", "registered", "owner", "approve"] | None = NOT_GIVEN, approver: str | None = NOT_GIVEN, inherit: bool = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, ttl_seconds: int | None = NOT_GIVEN, text: str | None = NOT_GIVEN) -> Steps[Standard]:
        """Set the standard of a node, which replaces the node's earlier standard. Only the owner may."""
        return answer("PUT /v1/nodes/{node_id}/standard", "actions.Standard", locals(), body=True)


class QuarantineCalls(Group[W]):
    """Operations of the group ``quarantine``."""

    @asked
    def quarantine(self, reason: str, *, source_id: UUID | None = NOT_GIVEN, key_id: UUID | None = NOT_GIVEN, persona_id: UUID | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN) -> Steps[Quarantine]:
        """Put memories out of every retrieval at once, and keep them. The same conditions are in force once."""
        return answer("POST /v1/quarantines", "quarantines.Quarantine", locals(), body=True, changes=True)

    @listed
    def list(self, *, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Quarantine]:
        """List the quarantines of the graph, newest first: their conditions, authors, times and reasons."""
        return pages("GET /v1/quarantines", "quarantines", "quarantines.Quarantine", locals())

    @asked
    def preview(self, reason: str, *, source_id: UUID | None = NOT_GIVEN, key_id: UUID | None = NOT_GIVEN, persona_id: UUID | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN) -> Steps[QuarantinePreview]:
        """Return the memories that a quarantine would hide, and hide nothing."""
        return answer("POST /v1/quarantines/preview", "quarantines.QuarantinePreview", locals(), body=True)

    @asked
    def suggest(self, *, records: int = NOT_GIVEN) -> Steps[Suggestions]:
        """Return suspicious memories: hidden instructions, stuffed keywords, restatements and floods."""
        return answer("GET /v1/quarantines/suggestions", "quarantines.Suggestions", locals())

    @asked
    def release(self, quarantine_id: UUID) -> Steps[Quarantine]:
        """End a quarantine: memories that are in no other one are found again. Repeating it changes nothing."""
        return answer("DELETE /v1/quarantines/{quarantine_id}", "quarantines.Quarantine", locals(), changes=True)


class RetentionCalls(Group[W]):
    """Operations of the group ``retention``."""

    @asked
    def shown(self, record_id: UUID) -> Steps[Retention]:
        """Return how long a memory is meant to be kept, and how often it was read."""
        return answer("GET /v1/records/{record_id}/retention", "retention.Retention", locals())

    @asked
    def keep(self, record_id: UUID, tier: Literal["short", "mid", "long"], *, expires_at: datetime | None = NOT_GIVEN, reason: str | None = NOT_GIVEN, etag: str | None = None) -> Steps[Retention]:
        """Set how long a memory is kept: `short`, `mid` or `long`. Others than the owner only lengthen it."""
        return answer("PUT /v1/records/{record_id}/retention", "retention.Retention", locals(), body=True)

    @asked
    def promote(self, record_id: UUID, *, etag: str | None = None) -> Steps[Retention]:
        """Move a memory to the next tier: `short`, `mid`, `long`."""
        return answer("POST /v1/records/{record_id}/promote", "retention.Retention", locals(), changes=True)

    @listed
    def list_archive(self, *, limit: int = NOT_GIVEN) -> Pages[Archived]:
        """List the archive, the last archived first."""
        return pages("GET /v1/archive", "records", "retention.Archived", locals())

    @asked
    def add(self, record_ids: Sequence[UUID], reason: str) -> Steps[ArchiveChange]:
        """Archive memories: default reads leave them out. Returns the memories that were not in the archive before."""
        return answer("POST /v1/archive", "retention.ArchiveChange", locals(), body=True, changes=True)

    @asked
    def restore(self, record_ids: Sequence[UUID]) -> Steps[ArchiveChange]:
        """Bring memories back from the archive with the tiers that they had."""
        return answer("POST /v1/archive/restore", "retention.ArchiveChange", locals(), body=True, changes=True)

    @asked
    def purge(self, older_than_days: float, *, dry_run: bool = True) -> Steps[Purge]:
        """Forget memories that have been in the archive for so many days, for good: each with a receipt."""
        return answer("POST /v1/archive/purge", "retention.Purge", locals(), body=True, changes=True)


class FailuresCalls(Group[W]):
    """Operations of the group ``failures``."""

    @listed
    def list(self, *, replayed: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Failure]:
        """List segments and uploads whose last attempt failed, newest first."""
        return pages("GET /v1/failures", "failures", "failures.Failure", locals())

    @asked
    def replay(self, failure_id: UUID) -> Steps[Replay]:
        """Put a failed segment or upload back into its queue with all its attempts. Repeating the call changes nothing."""
        return answer("POST /v1/failures/{failure_id}/replay", "failures.Replay", locals(), changes=True)


class PeersCalls(Group[W]):
    """Operations of the group ``peers``."""

    @asked
    def list_nodes(self, nonce: str, *, since: UUID | None = NOT_GIVEN, horizon: UUID | None = NOT_GIVEN, after: UUID | None = NOT_GIVEN) -> Steps[OfferedNodes]:
        """List the nodes that a third party may read, each with a digest of its records."""
        return answer("GET /v1/mirror", "mirrors.OfferedNodes", locals())

    @asked
    def list_records(self, node_id: UUID, nonce: str, *, prefix: str = NOT_GIVEN) -> Steps[OfferedRecords]:
        """List the current records of a node with their versions, or digests of parts if there are many."""
        return answer("GET /v1/mirror/nodes/{node_id}", "mirrors.OfferedRecords", locals())


class Operations(Group[W]):
    """All groups."""

    @cached_property
    def inbox(self) -> InboxCalls[W]:
        """Operations of this group."""
        return InboxCalls(self._sender)

    @cached_property
    def retrieval(self) -> RetrievalCalls[W]:
        """Operations of this group."""
        return RetrievalCalls(self._sender)

    @cached_property
    def users(self) -> UsersCalls[W]:
        """Operations of this group."""
        return UsersCalls(self._sender)

    @cached_property
    def files(self) -> FilesCalls[W]:
        """Operations of this group."""
        return FilesCalls(self._sender)

    @cached_property
    def graph(self) -> GraphCalls[W]:
        """Operations of this group."""
        return GraphCalls(self._sender)

    @cached_property
    def forgetting(self) -> ForgettingCalls[W]:
        """Operations of this group."""
        return ForgettingCalls(self._sender)

    @cached_property
    def memories(self) -> MemoriesCalls[W]:
        """Operations of this group."""
        return MemoriesCalls(self._sender)

    @cached_property
    def facts(self) -> FactsCalls[W]:
        """Operations of this group."""
        return FactsCalls(self._sender)

    @cached_property
    def digests(self) -> DigestsCalls[W]:
        """Operations of this group."""
        return DigestsCalls(self._sender)

    @cached_property
    def links(self) -> LinksCalls[W]:
        """Operations of this group."""
        return LinksCalls(self._sender)

    @cached_property
    def access(self) -> AccessCalls[W]:
        """Operations of this group."""
        return AccessCalls(self._sender)

    @cached_property
    def organizations(self) -> OrganizationsCalls[W]:
        """Operations of this group."""
        return OrganizationsCalls(self._sender)

    @cached_property
    def spaces(self) -> SpacesCalls[W]:
        """Operations of this group."""
        return SpacesCalls(self._sender)

    @cached_property
    def webhooks(self) -> WebhooksCalls[W]:
        """Operations of this group."""
        return WebhooksCalls(self._sender)

    @cached_property
    def actions(self) -> ActionsCalls[W]:
        """Operations of this group."""
        return ActionsCalls(self._sender)

    @cached_property
    def quarantine(self) -> QuarantineCalls[W]:
        """Operations of this group."""
        return QuarantineCalls(self._sender)

    @cached_property
    def retention(self) -> RetentionCalls[W]:
        """Operations of this group."""
        return RetentionCalls(self._sender)

    @cached_property
    def failures(self) -> FailuresCalls[W]:
        """Operations of this group."""
        return FailuresCalls(self._sender)

    @cached_property
    def peers(self) -> PeersCalls[W]:
        """Operations of this group."""
        return PeersCalls(self._sender)
