"""All operations in groups. Written by docs/generate.py from the OpenAPI document."""

# mypy: disable-error-code="empty-body"
# Decorators make methods of the signatures.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from neurigraph_client.calls import NOT_GIVEN, Group, Pages, Steps, W, asks, lists
from neurigraph_client.models import Given

if TYPE_CHECKING:
    from neurigraph_pipelines.views.access import Account, CreatedUser, Grant, GrantPreview, Identity, IssuedKey, Key, Personas, SignedIn, User
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
    from neurigraph_pipelines.views.records import ListedRecord
    from neurigraph_pipelines.views.retention import ArchiveChange, Archived, Purge, Retention
    from neurigraph_pipelines.views.search import Duplicates, Found
    from neurigraph_pipelines.views.sources import ConversationState, EventState, ListedConversation, ListedEvent, ListedNote, ListedUpload, NoteState, Upload
    from neurigraph_pipelines.views.spaces import SourceOfSpace, Space
    from neurigraph_pipelines.views.webhooks import Delivery, Replayed, Webhook, WebhookWithSecret, Webhooks


class InboxCalls(Group[W]):
    """Operations of the group ``inbox``."""

    @asks("POST /v1/memories", "inbox.Added", body=True, query=("wait",), changes=True)
    def add_memory(self, *, wait: float = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, origin: str | None = NOT_GIVEN, document_type: Literal["text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "notion_doc", "webpage", "onedrive", "repository", "document", "table", "audio", "code", "file", "conversation", "event", "note"] | None = NOT_GIVEN, url: str | None = NOT_GIVEN, channel: Literal["dm", "private", "public"] | None = NOT_GIVEN, author: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, updated_at: datetime | None = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, messages: Sequence[Given] | None = NOT_GIVEN, content: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, occurred_at: datetime | None = NOT_GIVEN, privacy: Literal["shared", "private"] | None = NOT_GIVEN) -> Steps[Added]:
        """Add a conversation that has ended, or a note. It can be found at once, and is stored in the background."""

    @asks("POST /v1/conversations", "inbox.Conversation", body=True, changes=True)
    def open_conversation(self, *, origin: str | None = NOT_GIVEN, document_type: Literal["text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "notion_doc", "webpage", "onedrive", "repository", "document", "table", "audio", "code", "file", "conversation", "event", "note"] | None = NOT_GIVEN, url: str | None = NOT_GIVEN, channel: Literal["dm", "private", "public"] | None = NOT_GIVEN, author: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, updated_at: datetime | None = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, replaces: UUID | None = NOT_GIVEN, title: str | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, started_at: datetime | None = NOT_GIVEN, privacy: Literal["shared", "private"] | None = NOT_GIVEN) -> Steps[Conversation]:
        """Open a conversation, or return the existing one with the same `external_id`."""

    @lists("GET /v1/conversations", "conversations", "sources.ListedConversation")
    def list_conversations(self, *, state: Literal["open", "waiting", "storing", "stored", "failed"] | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN, started_after: datetime | None = NOT_GIVEN, started_before: datetime | None = NOT_GIVEN, upload_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, container_tags: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedConversation]:
        """List conversations with their states, the last received first. A persona sees its own."""

    @asks("POST /v1/conversations/{conversation_id}/messages", "inbox.Appended", body=True, changes=True)
    def append_messages(self, conversation_id: UUID, messages: Sequence[Given]) -> Steps[Appended]:
        """Append messages in the order given."""

    @asks("POST /v1/conversations/{conversation_id}/end", "inbox.Ended", body=True, changes=True)
    def end_conversation(self, conversation_id: UUID, *, ended_at: datetime | None = NOT_GIVEN) -> Steps[Ended]:
        """End a conversation. Ending it again changes nothing and returns the time of its first end."""

    @asks("POST /v1/events", "inbox.Event", body=True, changes=True)
    def open_event(self, kind: Literal["meeting", "call", "work_session", "milestone"], title: str, *, origin: str | None = NOT_GIVEN, document_type: Literal["text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "notion_doc", "webpage", "onedrive", "repository", "document", "table", "audio", "code", "file", "conversation", "event", "note"] | None = NOT_GIVEN, url: str | None = NOT_GIVEN, channel: Literal["dm", "private", "public"] | None = NOT_GIVEN, author: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, updated_at: datetime | None = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, replaces: UUID | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, started_at: datetime | None = NOT_GIVEN, privacy: Literal["shared", "private"] | None = NOT_GIVEN, messages: Sequence[Mapping[str, Any]] = NOT_GIVEN) -> Steps[Event]:
        """Open an event, or return the existing one with the same `external_id`, and append the messages so far."""

    @lists("GET /v1/events", "events", "sources.ListedEvent")
    def list_events(self, *, state: Literal["open", "waiting", "storing", "stored", "failed"] | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN, started_after: datetime | None = NOT_GIVEN, started_before: datetime | None = NOT_GIVEN, upload_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, container_tags: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedEvent]:
        """List events with their states, the last received first. A persona sees its own."""

    @asks("POST /v1/events/{event_id}/messages", "inbox.Appended", body=True, changes=True)
    def append_to_event(self, event_id: UUID, messages: Sequence[Mapping[str, Any]]) -> Steps[Appended]:
        """Append messages in the order given. They can be found once the event has ended and is stored."""

    @asks("POST /v1/events/{event_id}/end", "inbox.EventEnded", body=True, changes=True)
    def end_event(self, event_id: UUID, *, ended_at: datetime | None = NOT_GIVEN) -> Steps[EventEnded]:
        """End an event, which is stored as one memory, whatever its length. Ending it again changes nothing."""

    @asks("POST /v1/notes", "inbox.Note", body=True, changes=True)
    def remember(self, content: str, *, origin: str | None = NOT_GIVEN, document_type: Literal["text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "notion_doc", "webpage", "onedrive", "repository", "document", "table", "audio", "code", "file", "conversation", "event", "note"] | None = NOT_GIVEN, url: str | None = NOT_GIVEN, channel: Literal["dm", "private", "public"] | None = NOT_GIVEN, author: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, updated_at: datetime | None = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, title: str | None = NOT_GIVEN, path: str | None = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, importance: float | None = NOT_GIVEN, priority: int | None = NOT_GIVEN, tags: Sequence[str] = NOT_GIVEN, on_conflict: Literal["error", "version", "supersede"] = NOT_GIVEN, replaces: UUID | None = NOT_GIVEN, privacy: Literal["shared", "private"] | None = NOT_GIVEN) -> Steps[Note]:
        """Write a note, which is remembered as it is. It is stored in the background."""

    @lists("GET /v1/notes", "notes", "sources.ListedNote")
    def list_notes(self, *, state: Literal["open", "waiting", "storing", "stored", "failed"] | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN, started_after: datetime | None = NOT_GIVEN, started_before: datetime | None = NOT_GIVEN, upload_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, container_tags: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedNote]:
        """List notes with their states, the last received first. A persona sees its own."""

    @asks("GET /v1/conversations/{conversation_id}", "sources.ConversationState")
    def conversation_state(self, conversation_id: UUID, *, wait: float = NOT_GIVEN) -> Steps[ConversationState]:
        """Return the state of a conversation, and the memories that it became."""

    @asks("PATCH /v1/conversations/{conversation_id}", "", body=True, changes=True)
    def share_conversation(self, conversation_id: UUID, privacy: Literal["shared", "private"], *, etag: str | None = None) -> Steps[None]:
        """Make a conversation and all memories from it private, or share them again. Only the owner may do so."""

    @asks("GET /v1/events/{event_id}", "sources.EventState")
    def event_state(self, event_id: UUID, *, wait: float = NOT_GIVEN) -> Steps[EventState]:
        """Return the state of an event, and the memories that it became."""

    @asks("PATCH /v1/events/{event_id}", "", body=True, changes=True)
    def share_event(self, event_id: UUID, privacy: Literal["shared", "private"], *, etag: str | None = None) -> Steps[None]:
        """Make an event and all memories from it private, or share them again. Only the owner may do so."""

    @asks("GET /v1/notes/{note_id}", "sources.NoteState")
    def note_state(self, note_id: UUID, *, wait: float = NOT_GIVEN) -> Steps[NoteState]:
        """Return the state of a note, and the memories that it became."""

    @asks("PATCH /v1/notes/{note_id}", "", body=True, changes=True)
    def share_note(self, note_id: UUID, privacy: Literal["shared", "private"], *, etag: str | None = None) -> Steps[None]:
        """Make a note and all memories from it private, or share them again. Only the owner may do so."""

    @lists("GET /v1/uploads", "uploads", "sources.ListedUpload")
    def list_uploads(self, *, state: Literal["open", "waiting", "storing", "stored", "failed"] | None = NOT_GIVEN, external_id: str | None = NOT_GIVEN, title: str | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN, started_after: datetime | None = NOT_GIVEN, started_before: datetime | None = NOT_GIVEN, upload_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, container_tags: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedUpload]:
        """List uploads with their states, the last received first."""

    @asks("GET /v1/uploads/{upload_id}", "sources.Upload")
    def upload_state(self, upload_id: UUID, *, wait: float = NOT_GIVEN) -> Steps[Upload]:
        """Return the state of an upload, and the memories that it became."""

    @asks("PATCH /v1/uploads/{upload_id}", "", body=True, changes=True)
    def share_upload(self, upload_id: UUID, privacy: Literal["shared", "private"], *, etag: str | None = None) -> Steps[None]:
        """Make an upload and all memories from it private, or share them again, as the owner or the member who sent it."""


class RetrievalCalls(Group[W]):
    """Operations of the group ``retrieval``."""

    @asks("POST /v1/search", "search.Found", body=True)
    def search(self, query: str, *, node_id: UUID | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, at: datetime | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, source_kinds: Sequence[Literal["conversation", "event", "upload", "note"]] = NOT_GIVEN, speaker: str | None = NOT_GIVEN, include_superseded: bool = NOT_GIVEN, asked_at: datetime | None = NOT_GIVEN, limit: int = NOT_GIVEN, message_limit: int = NOT_GIVEN, explain: bool = NOT_GIVEN, include: Sequence[Literal["facts"]] = NOT_GIVEN) -> Steps[Found]:
        """Search memories and messages for a question. No file is opened."""

    @asks("POST /v1/duplicates", "search.Duplicates", body=True)
    def duplicates(self, text: str, *, limit: int = NOT_GIVEN) -> Steps[Duplicates]:
        """Find facts and messages that say the same as a text, before the text is written. Nothing is written."""

    @asks("POST /v1/facts/query", "fact_queries.QueriedFacts", body=True)
    def walk_facts(self, *, query: str | None = NOT_GIVEN, kind: Literal["search", "why", "changed", "about", "connected"] = NOT_GIVEN, fact_id: UUID | None = NOT_GIVEN, max_hops: int | None = NOT_GIVEN, relations: Sequence[str] = NOT_GIVEN, min_strength: float = NOT_GIVEN, time_range: Mapping[str, Any] | None = NOT_GIVEN, who: Sequence[str] = NOT_GIVEN, status: Sequence[Literal["active", "superseded", "disputed", "archived"]] = NOT_GIVEN, at: datetime | None = NOT_GIVEN, valid_at: datetime | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, include_graph: bool = NOT_GIVEN, max_nodes: int = NOT_GIVEN) -> Steps[QueriedFacts]:
        """Follow the links of facts to causes, versions or connected facts, and return them with their paths."""

    @asks("POST /v1/ask", "answers.Reply", body=True)
    def ask(self, query: str, *, node_id: UUID | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, at: datetime | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, source_kinds: Sequence[Literal["conversation", "event", "upload", "note"]] = NOT_GIVEN, speaker: str | None = NOT_GIVEN, include_superseded: bool = NOT_GIVEN, asked_at: datetime | None = NOT_GIVEN) -> Steps[Reply]:
        """Answer a question in words, with citations. Only the messages that may hold the answer are read."""

    @asks("POST /v1/context", "profiles.PromptContext", body=True)
    def context(self, *, node_id: UUID | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN, query: str | None = NOT_GIVEN, messages: Sequence[Mapping[str, Any]] | None = NOT_GIVEN, budget: int = NOT_GIVEN, format: Literal["text", "messages", "json"] = NOT_GIVEN, asked_at: datetime | None = NOT_GIVEN) -> Steps[PromptContext]:
        """Make the block of memory for a prompt: who the user is, then what concerns the question, within a budget."""

    @asks("GET /v1/profile", "profiles.PersonProfile")
    def get_profile(self, *, name: str | None = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, container_tags: Sequence[str] | None = NOT_GIVEN) -> Steps[PersonProfile]:
        """Return what holds about the owner or another person, in sections, each statement with its source."""

    @asks("GET /v1/unstored/{source_id}", "files.UnstoredMessages")
    def unstored(self, source_id: UUID, *, from_message: int = NOT_GIVEN, limit: int = NOT_GIVEN) -> Steps[UnstoredMessages]:
        """Read the messages of a conversation, event, upload or note that are not stored yet: no file has them."""


class UsersCalls(Group[W]):
    """Operations of the group ``users``."""

    @lists("GET /v1/users", "users", "access.User")
    def list(self, *, limit: int = NOT_GIVEN) -> Pages[User]:
        """List the users of the installation by name, each with the database that they live in."""

    @asks("POST /v1/users", "access.CreatedUser", body=True, once=True)
    def create(self, slug: str, *, database: str | None = NOT_GIVEN) -> Steps[CreatedUser]:
        """Create a user, the root node of their graph and a first API key. The key is shown only here."""

    @asks("GET /v1/identity", "access.Identity")
    def get_identity(self) -> Steps[Identity]:
        """Say for whom you act, what you see and what you may change."""

    @asks("GET /v1/account", "access.Account")
    def get_account(self) -> Steps[Account]:
        """Return the profile that the user states."""

    @asks("PATCH /v1/account", "access.Account", body=True, changes=True)
    def change_account(self, *, display_name: str | None = NOT_GIVEN, email: str | None = NOT_GIVEN, metadata: Mapping[str, Any] | None = NOT_GIVEN) -> Steps[Account]:
        """Change the stated profile. Only the user sees it."""

    @asks("PUT /v1/account/password", "", body=True)
    def set_password(self, password: str) -> Steps[None]:
        """Set the password that opens the page. All who signed in with the old one are signed out."""

    @asks("DELETE /v1/account/password", "", changes=True)
    def remove_password(self) -> Steps[None]:
        """Remove the password. Only keys open the page then."""

    @asks("POST /v1/sign-in", "access.SignedIn", body=True, once=True)
    def sign_in(self, user: str, password: str) -> Steps[SignedIn]:
        """Exchange a name and a password for a key that expires after twelve hours."""


class FilesCalls(Group[W]):
    """Operations of the group ``files``."""

    @asks("GET /v1/files/{file_id}", "files.File")
    def state(self, file_id: UUID) -> Steps[File]:
        """Return the state of a file, with its history. This does not count as an access."""

    @asks("POST /v1/files/{file_id}/touch", "files.File", changes=True)
    def touch(self, file_id: UUID) -> Steps[File]:
        """Reset the dormancy clock of a file, as opening it does. A dormant file stays dormant."""

    @asks("POST /v1/files/{file_id}/compress", "files.File", changes=True)
    def compress(self, file_id: UUID) -> Steps[File]:
        """Make a file dormant now. Nothing happens if it is dormant already."""


class GraphCalls(Group[W]):
    """Operations of the group ``graph``."""

    @asks("GET /v1/tree", "graph.TreePage")
    def tree(self, *, limit: int = NOT_GIVEN, cursor: str | None = NOT_GIVEN, container_tags: Sequence[str] | None = NOT_GIVEN) -> Steps[TreePage]:
        """Return the graph from the root down; for a persona or a third party, the nodes that they may read."""

    @lists("GET /v1/nodes", "nodes", "graph.ListedNode")
    def list_nodes(self, *, path: str | None = NOT_GIVEN, name: str | None = NOT_GIVEN, parent_node_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN, container_tags: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedNode]:
        """List nodes, parents before their children. Without filters the pages hold the whole graph."""

    @asks("POST /v1/nodes", "graph.CreatedNode", body=True, changes=True)
    def provision(self, parent_node_id: UUID, name: str, *, node_type: Literal["concept", "persona"] = NOT_GIVEN, kind: Literal["user", "topic", "person", "project", "organization", "place", "thing"] = NOT_GIVEN, summary: str = NOT_GIVEN, writes: bool = NOT_GIVEN) -> Steps[CreatedNode]:
        """Create a node: a concept, or a persona that can have keys and grants of its own."""

    @asks("GET /v1/nodes/{node_id}", "graph.Shell")
    def shell(self, node_id: UUID) -> Steps[Shell]:
        """Return the shell of a node: identity, state, profile, children and edges."""

    @asks("PATCH /v1/nodes/{node_id}", "graph.GraphChange", body=True, changes=True)
    def change_node(self, node_id: UUID, *, name: str | None = NOT_GIVEN, parent_node_id: UUID | None = NOT_GIVEN, dry_run: bool = True, etag: str | None = None) -> Steps[GraphChange]:
        """Rename a node, which keeps its old name as an alias, or move it with all nodes below it."""

    @asks("GET /v1/nodes/{node_id}/profile", "graph.NodeProfile")
    def profile(self, node_id: UUID) -> Steps[NodeProfile]:
        """Return the themes of a node's memories, and the difference between the newest and the earlier ones."""

    @asks("GET /v1/nodes/{node_id}/state", "files.NodeFiles")
    def node_state(self, node_id: UUID) -> Steps[NodeFiles]:
        """Return the states of a node's files and the bytes that they occupy."""

    @asks("POST /v1/records/{record_id}/move", "graph.GraphChange", body=True, changes=True)
    def move_record(self, record_id: UUID, node_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Steps[GraphChange]:
        """Move a record to another node, with its file, its history and its state."""

    @asks("POST /v1/records/move", "graph.GraphChange", body=True, changes=True)
    def move_records(self, node_id: UUID, record_ids: Sequence[UUID], *, dry_run: bool = True) -> Steps[GraphChange]:
        """Move records to another node, with their files, history and states. Either all are moved or none."""

    @asks("POST /v1/nodes/{node_id}/merge", "graph.GraphChange", body=True, changes=True)
    def merge(self, node_id: UUID, into_node_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Steps[GraphChange]:
        """Move the records, children, edges and names of this node into another, and remove this node."""

    @asks("POST /v1/nodes/{node_id}/split", "graph.GraphChange", body=True, changes=True)
    def split(self, node_id: UUID, name: str, *, kind: Literal["user", "topic", "person", "project", "organization", "place", "thing"] = NOT_GIVEN, beside: bool = NOT_GIVEN, record_ids: Sequence[UUID] | None = NOT_GIVEN, keyword: str | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, dry_run: bool = True, etag: str | None = None) -> Steps[GraphChange]:
        """Move some records of a node to a new node."""

    @lists("GET /v1/nodes/{node_id}/mentions", "mentions", "evidence.Mention")
    def mentions(self, node_id: UUID, *, role: Literal["mention", "subject", "author", "owner", "assignee", "component"] | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Mention]:
        """List the memories that speak of a node, the last stored first."""

    @lists("GET /v1/edges/{edge_id}/evidence", "evidence", "evidence.EdgeEvidence")
    def evidence(self, edge_id: UUID, *, limit: int = NOT_GIVEN) -> Pages[EdgeEvidence]:
        """Return an edge with its evidence, the newest first."""

    @asks("POST /v1/edges/{edge_id}/evidence", "evidence.StatedEvidence", body=True, changes=True)
    def state_evidence(self, edge_id: UUID, stance: Literal["asserts", "ends", "denies"], *, valid_from: datetime | None = NOT_GIVEN, valid_until: datetime | None = NOT_GIVEN) -> Steps[StatedEvidence]:
        """State by hand that an edge holds, has ended, or never was. Only the owner may, and only the owner sees it."""

    @asks("DELETE /v1/edges/{edge_id}/evidence/{evidence_id}", "", changes=True)
    def take_back_evidence(self, edge_id: UUID, evidence_id: UUID) -> Steps[None]:
        """Take back a statement made by hand about an edge. A memory's statements go with the memory."""

    @lists("GET /v1/nodes/{node_id}/aliases", "aliases", "evidence.ListedAlias")
    def list_aliases(self, node_id: UUID, *, limit: int = NOT_GIVEN) -> Pages[ListedAlias]:
        """List the other names and ids of a node, the oldest first."""

    @asks("POST /v1/nodes/{node_id}/aliases", "evidence.NodeAlias", body=True, changes=True)
    def give_alias(self, node_id: UUID, value: str, *, type: Literal["name", "former_name", "email", "handle", "phone", "url", "external"] = NOT_GIVEN, verified: bool = NOT_GIVEN) -> Steps[NodeAlias]:
        """Give a node another name or an id, which stands until somebody removes it."""

    @asks("DELETE /v1/nodes/{node_id}/aliases", "evidence.RemovedAliases", changes=True)
    def remove_alias(self, node_id: UUID, value: str, *, type: Literal["name", "former_name", "email", "handle", "phone", "url", "external"] | None = NOT_GIVEN) -> Steps[RemovedAliases]:
        """Remove a name or an id of a node. Memories that use a name may add it again."""

    @lists("GET /v1/aliases", "aliases", "evidence.ListedAlias")
    def find_aliases(self, value: str, *, type: Literal["name", "former_name", "email", "handle", "phone", "url", "external"] | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[ListedAlias]:
        """Find the visible nodes that have a name as an alias, or an id."""


class ForgettingCalls(Group[W]):
    """Operations of the group ``forgetting``."""

    @asks("DELETE /v1/nodes/{node_id}", "erasures.ErasureWithObjects | erasures.ErasurePreview", changes=True)
    def forget_node(self, node_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Steps[ErasureWithObjects | ErasurePreview]:
        """Erase a node, all nodes below it and their records, permanently. Repeating the call returns the same receipt."""

    @asks("DELETE /v1/records/{record_id}", "erasures.ErasureWithObjects | erasures.ErasurePreview", changes=True)
    def forget_record(self, record_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Steps[ErasureWithObjects | ErasurePreview]:
        """Erase a record and everything derived from it, permanently. Repeating the call returns the same receipt."""

    @asks("DELETE /v1/facts/{fact_id}", "erasures.ErasureWithObjects | erasures.ErasurePreview", changes=True)
    def forget_fact(self, fact_id: UUID, *, dry_run: bool = True) -> Steps[ErasureWithObjects | ErasurePreview]:
        """Erase a fact, permanently, so that its memory does not state it again. Repeating the call returns the receipt."""

    @asks("DELETE /v1/users/{user_id}", "erasures.ErasureWithObjects | erasures.ErasurePreview", changes=True)
    def forget_user(self, user_id: UUID, *, dry_run: bool = True) -> Steps[ErasureWithObjects | ErasurePreview]:
        """Erase the calling user and all their data, keys included, permanently."""

    @lists("GET /v1/erasures", "erasures", "erasures.Erasure")
    def list_erasures(self, *, limit: int = NOT_GIVEN) -> Pages[Erasure]:
        """List the receipts of the caller's erasures, newest first."""


class MemoriesCalls(Group[W]):
    """Operations of the group ``memories``."""

    @lists("GET /v1/records", "records", "records.ListedRecord")
    def list_records(self, *, node_id: UUID | None = NOT_GIVEN, below: bool = NOT_GIVEN, source_id: UUID | None = NOT_GIVEN, created_after: datetime | None = NOT_GIVEN, created_before: datetime | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, content_type: Literal["conversation", "event", "file_upload", "note", "other"] | None = NOT_GIVEN, superseded: bool | None = NOT_GIVEN, entity: str | None = NOT_GIVEN, topic: str | None = NOT_GIVEN, order: Literal["created_at", "occurred_at"] = NOT_GIVEN, limit: int = NOT_GIVEN, container_tags: Sequence[str] | None = NOT_GIVEN) -> Pages[ListedRecord]:
        """List memories of the whole graph, newest first."""

    @asks("GET /v1/records/{record_id}", "memories.Memory")
    def get(self, record_id: UUID, *, at: datetime | None = NOT_GIVEN) -> Steps[Memory]:
        """Return one memory, in its present version or the version of a moment."""

    @asks("PATCH /v1/records/{record_id}", "memories.Memory", body=True, changes=True)
    def revise(self, record_id: UUID, *, title: str | None = NOT_GIVEN, summary: str | None = NOT_GIVEN, entities: Sequence[str] | None = NOT_GIVEN, topics: Sequence[str] | None = NOT_GIVEN, dates: Sequence[str] | None = NOT_GIVEN, relationships: Sequence[str] | None = NOT_GIVEN, etag: str | None = None) -> Steps[Memory]:
        """Change the title, summary or keywords of a memory. Its files do not change."""

    @lists("GET /v1/records/{record_id}/history", "deltas", "memories.Delta")
    def deltas(self, record_id: UUID, *, limit: int = NOT_GIVEN) -> Pages[Delta]:
        """List all changes of a memory, newest first."""

    @asks("GET /v1/records/{record_id}/diff", "memories.Difference")
    def difference(self, record_id: UUID, from_at: datetime, *, to_at: datetime | None = NOT_GIVEN) -> Steps[Difference]:
        """Compare a memory at two moments."""

    @asks("POST /v1/records/{record_id}/supersede", "memories.Memory", body=True, changes=True)
    def supersede(self, record_id: UUID, by: UUID | None, *, etag: str | None = None) -> Steps[Memory]:
        """Mark a memory as replaced by a newer one, or undo that with null."""


class FactsCalls(Group[W]):
    """Operations of the group ``facts``."""

    @lists("GET /v1/facts", "facts", "facts.Fact")
    def list(self, *, node_id: UUID | None = NOT_GIVEN, below: bool = NOT_GIVEN, kind: Literal["event", "state", "preference", "plan", "decision", "commitment", "relation", "quantity", "other"] | None = NOT_GIVEN, record_id: UUID | None = NOT_GIVEN, who: str | None = NOT_GIVEN, occurred_after: datetime | None = NOT_GIVEN, occurred_before: datetime | None = NOT_GIVEN, superseded: bool | None = NOT_GIVEN, status: Literal["active", "superseded", "disputed", "archived"] | None = NOT_GIVEN, tags: Sequence[str] | None = NOT_GIVEN, forgotten: bool = NOT_GIVEN, limit: int = NOT_GIVEN, container_tags: Sequence[str] | None = NOT_GIVEN) -> Pages[Fact]:
        """List facts of the whole graph, newest first."""

    @asks("POST /v1/facts", "facts.StatedFact", body=True, changes=True)
    def state(self, statement: str, *, kind: Literal["event", "state", "preference", "plan", "decision", "commitment", "relation", "quantity", "other"] | None = NOT_GIVEN, stated_as: Literal["statement", "inference", "observation"] | None = NOT_GIVEN, who: Sequence[str] | None = NOT_GIVEN, where: str | None = NOT_GIVEN, why: str | None = NOT_GIVEN, how: str | None = NOT_GIVEN, subject: str | None = NOT_GIVEN, predicate: str | None = NOT_GIVEN, object: str | None = NOT_GIVEN, occurred_from: datetime | None = NOT_GIVEN, occurred_until: datetime | None = NOT_GIVEN, expires_at: datetime | None = NOT_GIVEN, importance: float | None = NOT_GIVEN, impact: Literal["high", "medium", "low"] | None = NOT_GIVEN, pinned: bool | None = NOT_GIVEN, tags: Sequence[str] | None = NOT_GIVEN, metadata: Mapping[str, Any] | None = NOT_GIVEN, valid_until: datetime | None = NOT_GIVEN, forget_after: datetime | None = NOT_GIVEN, path: str | None = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, privacy: Literal["shared", "private"] = NOT_GIVEN) -> Steps[StatedFact]:
        """State a fact by hand. It is a note whose memory carries exactly this fact, stored in the background."""

    @asks("GET /v1/records/{record_id}/facts", "facts.BroughtFacts")
    def of_record(self, record_id: UUID, *, limit: int = NOT_GIVEN, cursor: str | None = NOT_GIVEN) -> Steps[BroughtFacts]:
        """List the facts of one memory, the new ones among them, and their links and conflicts with known facts."""

    @asks("GET /v1/facts/{fact_id}", "facts.FactWithPlaces")
    def get(self, fact_id: UUID) -> Steps[FactWithPlaces]:
        """Return a fact with where it was said: memories, sources and messages, and through which door they came."""

    @asks("PATCH /v1/facts/{fact_id}", "facts.FactWithPlaces | facts.StatedFact", body=True, changes=True)
    def change(self, fact_id: UUID, *, kind: Literal["event", "state", "preference", "plan", "decision", "commitment", "relation", "quantity", "other"] | None = NOT_GIVEN, stated_as: Literal["statement", "inference", "observation"] | None = NOT_GIVEN, who: Sequence[str] | None = NOT_GIVEN, where: str | None = NOT_GIVEN, why: str | None = NOT_GIVEN, how: str | None = NOT_GIVEN, subject: str | None = NOT_GIVEN, predicate: str | None = NOT_GIVEN, object: str | None = NOT_GIVEN, occurred_from: datetime | None = NOT_GIVEN, occurred_until: datetime | None = NOT_GIVEN, expires_at: datetime | None = NOT_GIVEN, importance: float | None = NOT_GIVEN, impact: Literal["high", "medium", "low"] | None = NOT_GIVEN, pinned: bool | None = NOT_GIVEN, tags: Sequence[str] | None = NOT_GIVEN, metadata: Mapping[str, Any] | None = NOT_GIVEN, valid_until: datetime | None = NOT_GIVEN, forget_after: datetime | None = NOT_GIVEN, statement: str | None = NOT_GIVEN) -> Steps[FactWithPlaces | StatedFact]:
        """Change a fact. New words are its next version, as a note; tags, metadata, pins and times apply at once."""

    @asks("GET /v1/facts/{fact_id}/history", "facts.FactHistory")
    def history(self, fact_id: UUID) -> Steps[FactHistory]:
        """Return the versions of a fact, with each change of them and its author."""

    @asks("GET /v1/facts/{fact_id}/belief", "facts.Belief")
    def get_belief(self, fact_id: UUID) -> Steps[Belief]:
        """Return the current version of a fact and the facts that conflict with it. Only the owner sees `belief`."""

    @asks("POST /v1/facts/{fact_id}/retract", "", changes=True)
    def retract(self, fact_id: UUID) -> Steps[None]:
        """Take a fact back. It is archived, and the version that it superseded stands again."""

    @asks("POST /v1/facts/{fact_id}/confirm", "", changes=True)
    def confirm(self, fact_id: UUID) -> Steps[None]:
        """Confirm that a fact holds, even if it was retracted or disputed."""

    @asks("POST /v1/facts/{fact_id}/undo", "facts.UndoneDecisions", changes=True)
    def undo_decisions(self, fact_id: UUID, *, other_fact_id: UUID | None = NOT_GIVEN) -> Steps[UndoneDecisions]:
        """Undo the results of comparing a fact with others: supersessions in both directions, and disputes."""


class DigestsCalls(Group[W]):
    """Operations of the group ``digests``."""

    @lists("GET /v1/digests", "digests", "digests.Digest")
    def list(self, *, node_id: UUID | None = NOT_GIVEN, record_id: UUID | None = NOT_GIVEN, days: Literal["7", "30", "90"] | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Digest]:
        """List digests, newest first. A caller sees a digest who may read all memories that it is made from."""

    @asks("POST /v1/digests", "digests.Digest", body=True, changes=True)
    def make(self, record_ids: Sequence[UUID]) -> Steps[Digest]:
        """Put some memories into words. The same memories again give the digest that is there."""

    @asks("GET /v1/digests/{digest_id}", "digests.Digest")
    def get(self, digest_id: UUID) -> Steps[Digest]:
        """Return a digest, with the memories that it is derived from."""

    @asks("DELETE /v1/digests/{digest_id}", "digests.RemovedDigest", changes=True)
    def remove(self, digest_id: UUID, *, dry_run: bool = True) -> Steps[RemovedDigest]:
        """Remove a digest. Its memories stay. The digest of a window is made again if digests are switched on."""


class LinksCalls(Group[W]):
    """Operations of the group ``links``."""

    @lists("GET /v1/records/{record_id}/links", "links", "links.Link")
    def of_record(self, record_id: UUID, *, relation: str | None = NOT_GIVEN, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Link]:
        """List the links of a memory and of its facts, newest first, as far as you see both ends."""

    @lists("GET /v1/facts/{fact_id}/links", "links", "links.Link")
    def of_fact(self, fact_id: UUID, *, relation: str | None = NOT_GIVEN, all: bool = NOT_GIVEN, computed: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Link]:
        """List the links of a fact, newest first, as far as you see both ends."""

    @asks("POST /v1/links", "links.WrittenLink", body=True, changes=True)
    def state(self, relation: str, *, from_fact_id: UUID | None = NOT_GIVEN, from_record_id: UUID | None = NOT_GIVEN, to_fact_id: UUID | None = NOT_GIVEN, to_record_id: UUID | None = NOT_GIVEN, to_node_id: UUID | None = NOT_GIVEN, to_source_id: UUID | None = NOT_GIVEN, strength: float = NOT_GIVEN, confidence: float = NOT_GIVEN, reason: str | None = NOT_GIVEN, messages: Sequence[int] = NOT_GIVEN, valid_from: datetime | None = NOT_GIVEN, valid_until: datetime | None = NOT_GIVEN, signature: Mapping[str, Any] | None = NOT_GIVEN) -> Steps[WrittenLink]:
        """State a link. `led_to` is stored as `caused_by` from the other end; the same again changes nothing."""

    @asks("GET /v1/links/{link_id}", "links.Link")
    def get(self, link_id: UUID) -> Steps[Link]:
        """Return a link."""

    @asks("POST /v1/links/{link_id}/end", "links.Link", body=True, changes=True)
    def end(self, link_id: UUID, *, valid_until: datetime | None = NOT_GIVEN, signature: Mapping[str, Any] | None = NOT_GIVEN) -> Steps[Link]:
        """End a link. The ended link stays, with the person who ended it, and can be stated again."""

    @asks("POST /v1/links/{link_id}/confirm", "links.Link", changes=True)
    def confirm(self, link_id: UUID) -> Steps[Link]:
        """Confirm a link, even if it was rejected."""

    @asks("POST /v1/links/{link_id}/reject", "links.Link", changes=True)
    def reject(self, link_id: UUID) -> Steps[Link]:
        """Reject a link. It is not inferred again; the effects of a verdict on two facts are undone."""

    @lists("GET /v1/signing-keys", "signing_keys", "links.SigningKey")
    def list_signing_keys(self, *, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[SigningKey]:
        """List public keys, newest first: the owner's list has all, others' has their own and keys of links they see."""

    @asks("POST /v1/signing-keys", "links.SigningKey", body=True, changes=True)
    def register_signing_key(self, public_key: str, *, peer: str | None = NOT_GIVEN) -> Steps[SigningKey]:
        """Register the public key with which you sign links. The private key stays with you."""

    @asks("POST /v1/signing-keys/{signing_key_id}/rotate", "links.SigningKey", body=True, changes=True)
    def rotate_signing_key(self, signing_key_id: UUID, public_key: str) -> Steps[SigningKey]:
        """Replace a key. Signatures of the old key still count, and the old key signs no more."""

    @asks("DELETE /v1/signing-keys/{signing_key_id}", "links.SigningKey", changes=True)
    def revoke_signing_key(self, signing_key_id: UUID) -> Steps[SigningKey]:
        """Revoke a key: links that it signed are shown as unsigned from now on. Revoking it again changes nothing."""


class AccessCalls(Group[W]):
    """Operations of the group ``access``."""

    @asks("POST /v1/keys", "access.IssuedKey", body=True, once=True)
    def issue_key(self, *, persona_id: UUID | None = NOT_GIVEN, third_party: str | None = NOT_GIVEN, label: str = NOT_GIVEN, expires_at: datetime | None = NOT_GIVEN, container_tags: Sequence[str] = NOT_GIVEN) -> Steps[IssuedKey]:
        """Issue a key for the user, a persona or a third party."""

    @lists("GET /v1/keys", "keys", "access.Key")
    def list_keys(self, *, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Key]:
        """List the keys of the graph without their secrets, newest first."""

    @asks("POST /v1/keys/{key_id}/rotate", "access.IssuedKey", body=True, once=True)
    def rotate_key(self, key_id: UUID, *, grace_seconds: float = NOT_GIVEN) -> Steps[IssuedKey]:
        """Issue a key that replaces another. The old key stays valid for `grace_seconds`."""

    @asks("DELETE /v1/keys/{key_id}", "access.Key", changes=True)
    def revoke_key(self, key_id: UUID) -> Steps[Key]:
        """Revoke a key, which is rejected from the next call on. Revoking it again changes nothing."""

    @asks("GET /v1/personas", "access.Personas")
    def list_personas(self) -> Steps[Personas]:
        """List the personas of the graph, by path."""

    @asks("POST /v1/grants", "access.Grant", body=True, changes=True)
    def grant(self, node_id: UUID, *, persona_id: UUID | None = NOT_GIVEN, third_party: str | None = NOT_GIVEN, grant_type: Literal["read", "read_write"] = NOT_GIVEN, expires_at: datetime | None = NOT_GIVEN) -> Steps[Grant]:
        """Grant a persona or a third party access to exactly one node."""

    @lists("GET /v1/grants", "grants", "access.Grant")
    def list_grants(self, *, node_id: UUID | None = NOT_GIVEN, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Grant]:
        """List the grants of the graph or of one node, newest first."""

    @asks("GET /v1/grants/preview", "access.GrantPreview")
    def preview_grant(self, node_id: UUID) -> Steps[GrantPreview]:
        """Return the memories that a grant on a node would open, and which of them look foreign to it."""

    @asks("DELETE /v1/grants/{grant_id}", "access.Grant", changes=True)
    def revoke(self, grant_id: UUID) -> Steps[Grant]:
        """Revoke a grant, which ends with the next statement. Revoking it again changes nothing."""


class OrganizationsCalls(Group[W]):
    """Operations of the group ``organizations``."""

    @asks("GET /v1/organizations", "organizations.Organizations")
    def list(self) -> Steps[Organizations]:
        """List the organizations of the caller, by slug."""

    @asks("POST /v1/organizations", "organizations.OrganizationWithKey", body=True, once=True)
    def create(self, slug: str, *, name: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN) -> Steps[OrganizationWithKey]:
        """Create an organization that the caller owns. The answer has a key of the caller for it, shown only here."""

    @asks("GET /v1/organizations/{organization_id}", "organizations.Organization")
    def get(self, organization_id: UUID) -> Steps[Organization]:
        """Return an organization of the caller."""

    @asks("PATCH /v1/organizations/{organization_id}", "organizations.Organization", body=True, changes=True)
    def change(self, organization_id: UUID, *, name: str | None = NOT_GIVEN, metadata: Mapping[str, Any] | None = NOT_GIVEN) -> Steps[Organization]:
        """Change the name or the metadata of an organization, as its owner or admin."""

    @asks("DELETE /v1/organizations/{organization_id}", "organizations.Deleted", changes=True)
    def delete(self, organization_id: UUID, *, dry_run: bool = True) -> Steps[Deleted]:
        """Erase an organization with its graph, permanently, as its owner."""

    @asks("GET /v1/organizations/{organization_id}/members", "organizations.Members")
    def list_members(self, organization_id: UUID) -> Steps[Members]:
        """List the members of an organization, the first to join first."""

    @asks("PATCH /v1/organizations/{organization_id}/members/{member_id}", "organizations.Member", body=True, changes=True)
    def change_member(self, organization_id: UUID, member_id: UUID, role: Literal["owner", "admin", "member"]) -> Steps[Member]:
        """Give a member another role, as an owner. There is always an owner."""

    @asks("DELETE /v1/organizations/{organization_id}/members/{member_id}", "organizations.Departure", changes=True)
    def remove_member(self, organization_id: UUID, member_id: UUID, *, forget: bool = NOT_GIVEN) -> Steps[Departure]:
        """Leave an organization, or remove a member. Access ends at once, and the member's private sources are erased."""

    @asks("POST /v1/organizations/{organization_id}/keys", "organizations.MemberKey", body=True, once=True)
    def issue_member_key(self, organization_id: UUID, *, label: str = NOT_GIVEN) -> Steps[MemberKey]:
        """Issue another key of the caller's own membership. It is shown only here."""

    @asks("POST /v1/organizations/{organization_id}/invitations", "organizations.InvitationWithCode", body=True, once=True)
    def invite(self, organization_id: UUID, *, role: Literal["owner", "admin", "member"] = NOT_GIVEN, label: str = NOT_GIVEN, invitee_id: UUID | None = NOT_GIVEN, hours: float = NOT_GIVEN) -> Steps[InvitationWithCode]:
        """Create an invitation: an admin for members, an owner for any role. The code is shown only here."""

    @asks("GET /v1/organizations/{organization_id}/invitations", "organizations.Invitations")
    def list_invitations(self, organization_id: UUID, *, all: bool = NOT_GIVEN) -> Steps[Invitations]:
        """List the invitations of an organization, newest first. Members see none."""

    @asks("DELETE /v1/organizations/{organization_id}/invitations/{invitation_id}", "organizations.Invitation", changes=True)
    def revoke_invitation(self, organization_id: UUID, invitation_id: UUID) -> Steps[Invitation]:
        """Revoke an invitation. Revoking it again changes nothing."""

    @asks("POST /v1/invitations/accept", "organizations.OrganizationWithKey", body=True, once=True)
    def accept_invitation(self, code: str, *, label: str = NOT_GIVEN) -> Steps[OrganizationWithKey]:
        """Become a member with the code of an invitation. The answer has a key for the organization, shown only here."""


class SpacesCalls(Group[W]):
    """Operations of the group ``spaces``."""

    @asks("POST /v1/spaces", "spaces.Space", body=True, changes=True)
    def add(self, container_tag: str, *, name: str | None = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, entity_context: str | None = NOT_GIVEN) -> Steps[Space]:
        """Make a space. A tag that a write names for the first time makes one, too."""

    @lists("GET /v1/spaces", "spaces", "spaces.Space")
    def list(self, *, limit: int = NOT_GIVEN) -> Pages[Space]:
        """List spaces, newest first. A key that is bound to spaces sees its spaces; a persona sees none."""

    @asks("GET /v1/spaces/{space_id}", "spaces.Space")
    def get(self, space_id: UUID) -> Steps[Space]:
        """Return a space."""

    @asks("PATCH /v1/spaces/{space_id}", "spaces.Space", body=True, changes=True)
    def change(self, space_id: UUID, *, name: str = NOT_GIVEN, metadata: Mapping[str, Any] = NOT_GIVEN, entity_context: str | None = NOT_GIVEN) -> Steps[Space]:
        """Change a space."""

    @asks("DELETE /v1/spaces/{space_id}", "spaces.Space", changes=True)
    def remove(self, space_id: UUID) -> Steps[Space]:
        """Remove a space, and return its last state. Its sources stay where they are."""

    @lists("GET /v1/spaces/{space_id}/sources", "sources", "spaces.SourceOfSpace")
    def list_sources(self, space_id: UUID, *, limit: int = NOT_GIVEN) -> Pages[SourceOfSpace]:
        """List the sources of a space, the last added first."""

    @asks("POST /v1/spaces/{space_id}/sources", "spaces.Space", body=True, changes=True)
    def add_sources(self, space_id: UUID, source_ids: Sequence[UUID]) -> Steps[Space]:
        """Put sources into a space, with all memories from them."""

    @asks("DELETE /v1/spaces/{space_id}/sources/{source_id}", "spaces.Space", changes=True)
    def remove_source(self, space_id: UUID, source_id: UUID) -> Steps[Space]:
        """Take a source out of a space. It stays in the graph and in other spaces."""


class WebhooksCalls(Group[W]):
    """Operations of the group ``webhooks``."""

    @asks("GET /v1/webhooks", "webhooks.Webhooks")
    def list(self) -> Steps[Webhooks]:
        """List the caller's webhooks, oldest first."""

    @asks("POST /v1/webhooks", "webhooks.WebhookWithSecret", body=True, once=True)
    def add(self, url: str, *, events: Sequence[str] = NOT_GIVEN, path_glob: str | None = NOT_GIVEN, author: str | None = NOT_GIVEN) -> Steps[WebhookWithSecret]:
        """Add a webhook. The answer has its secret, which is not shown again."""

    @asks("GET /v1/webhooks/{webhook_id}", "webhooks.Webhook")
    def get(self, webhook_id: UUID) -> Steps[Webhook]:
        """Return a webhook, with how many deliveries wait, arrived and were given up."""

    @asks("PATCH /v1/webhooks/{webhook_id}", "webhooks.Webhook", body=True, changes=True)
    def change(self, webhook_id: UUID, *, url: str = NOT_GIVEN, events: Sequence[str] = NOT_GIVEN, path_glob: str | None = NOT_GIVEN, author: str | None = NOT_GIVEN, state: Literal["active", "paused"] = NOT_GIVEN) -> Steps[Webhook]:
        """Change, pause or resume a webhook."""

    @asks("DELETE /v1/webhooks/{webhook_id}", "", changes=True)
    def remove(self, webhook_id: UUID) -> Steps[None]:
        """Remove a webhook with its deliveries."""

    @asks("POST /v1/webhooks/{webhook_id}/test", "webhooks.Delivery", changes=True)
    def test(self, webhook_id: UUID) -> Steps[Delivery]:
        """Send a `webhook.test` event at once, and return the result of its delivery."""

    @asks("POST /v1/webhooks/{webhook_id}/rotate", "webhooks.WebhookWithSecret", once=True)
    def rotate(self, webhook_id: UUID) -> Steps[WebhookWithSecret]:
        """Give a webhook another secret. For a day messages are signed with both."""

    @lists("GET /v1/webhooks/{webhook_id}/deliveries", "deliveries", "webhooks.Delivery")
    def list_deliveries(self, webhook_id: UUID, *, state: Literal["waiting", "delivered", "dead", "withheld"] | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Delivery]:
        """List the deliveries of a webhook, newest first."""

    @asks("POST /v1/webhooks/{webhook_id}/replay", "webhooks.Replayed", body=True, changes=True)
    def replay_deliveries(self, webhook_id: UUID, *, delivery_id: UUID | None = NOT_GIVEN) -> Steps[Replayed]:
        """Send all dead deliveries again, or one finished delivery."""


class ActionsCalls(Group[W]):
    """Operations of the group ``actions``."""

    @lists("GET /v1/actions", "actions", "actions.Action")
    def list(self, *, kind: Literal["store", "delete", "promote", "archive", "restore", "supersede", "link", "merge_nodes", "resolve", "digest", "move"] | None = NOT_GIVEN, state: Literal["open", "approved", "rejected", "executed", "failed", "expired"] = NOT_GIVEN, all: bool = NOT_GIVEN, node_id: UUID | None = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Action]:
        """List the actions that wait for a decision, as far as the caller may see them, newest first."""

    @asks("POST /v1/actions", "actions.Action", body=True, changes=True)
    def request(self, kind: Literal["delete", "promote", "archive", "digest"], record_id: UUID) -> Steps[Action]:
        """Ask, as a persona, for a record to be deleted, promoted, archived, or put into words with those around it."""

    @asks("GET /v1/actions/{action_id}", "actions.Action")
    def get(self, action_id: UUID) -> Steps[Action]:
        """Return an action, with the text of the note that it holds."""

    @asks("POST /v1/actions/{action_id}/votes", "actions.Action", body=True, changes=True)
    def vote(self, action_id: UUID, approves: bool, *, second: bool = NOT_GIVEN) -> Steps[Action]:
        """Approve or reject an action. An action is carried out as soon as the last vote approves it."""

    @asks("GET /v1/nodes/{node_id}/standard", "actions.Standard")
    def standard(self, node_id: UUID) -> Steps[Standard]:
        """Return the standard that holds at a node, and where each field comes from."""

    @asks("PUT /v1/nodes/{node_id}/standard", "actions.Standard", body=True)
    def set_standard(self, node_id: UUID, *, write: Literal["any", "registered", "owner", "approve"] | None = NOT_GIVEN, promote: Literal["any", "registered", "owner", "approve"] | None = NOT_GIVEN, delete: Literal["any", "registered", "owner", "approve"] | None = NOT_GIVEN, approver: str | None = NOT_GIVEN, inherit: bool = NOT_GIVEN, tier: Literal["short", "mid", "long"] | None = NOT_GIVEN, ttl_seconds: int | None = NOT_GIVEN, text: str | None = NOT_GIVEN) -> Steps[Standard]:
        """Set the standard of a node, which replaces the node's earlier standard. Only the owner may."""


class QuarantineCalls(Group[W]):
    """Operations of the group ``quarantine``."""

    @asks("POST /v1/quarantines", "quarantines.Quarantine", body=True, changes=True)
    def quarantine(self, reason: str, *, source_id: UUID | None = NOT_GIVEN, key_id: UUID | None = NOT_GIVEN, persona_id: UUID | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN) -> Steps[Quarantine]:
        """Put memories out of every retrieval at once, and keep them. The same conditions are in force once."""

    @lists("GET /v1/quarantines", "quarantines", "quarantines.Quarantine")
    def list(self, *, all: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Quarantine]:
        """List the quarantines of the graph, newest first: their conditions, authors, times and reasons."""

    @asks("POST /v1/quarantines/preview", "quarantines.QuarantinePreview", body=True)
    def preview(self, reason: str, *, source_id: UUID | None = NOT_GIVEN, key_id: UUID | None = NOT_GIVEN, persona_id: UUID | None = NOT_GIVEN, received_after: datetime | None = NOT_GIVEN, received_before: datetime | None = NOT_GIVEN) -> Steps[QuarantinePreview]:
        """Return the memories that a quarantine would hide, and hide nothing."""

    @asks("GET /v1/quarantines/suggestions", "quarantines.Suggestions")
    def suggest(self, *, records: int = NOT_GIVEN) -> Steps[Suggestions]:
        """Return suspicious memories: hidden instructions, stuffed keywords, restatements and floods."""

    @asks("DELETE /v1/quarantines/{quarantine_id}", "quarantines.Quarantine", changes=True)
    def release(self, quarantine_id: UUID) -> Steps[Quarantine]:
        """End a quarantine: memories that are in no other one are found again. Repeating it changes nothing."""


class RetentionCalls(Group[W]):
    """Operations of the group ``retention``."""

    @asks("GET /v1/records/{record_id}/retention", "retention.Retention")
    def shown(self, record_id: UUID) -> Steps[Retention]:
        """Return how long a memory is meant to be kept, and how often it was read."""

    @asks("PUT /v1/records/{record_id}/retention", "retention.Retention", body=True)
    def keep(self, record_id: UUID, tier: Literal["short", "mid", "long"], *, expires_at: datetime | None = NOT_GIVEN, reason: str | None = NOT_GIVEN, etag: str | None = None) -> Steps[Retention]:
        """Set how long a memory is kept: `short`, `mid` or `long`. Others than the owner only lengthen it."""

    @asks("POST /v1/records/{record_id}/promote", "retention.Retention", changes=True)
    def promote(self, record_id: UUID, *, etag: str | None = None) -> Steps[Retention]:
        """Move a memory to the next tier: `short`, `mid`, `long`."""

    @lists("GET /v1/archive", "records", "retention.Archived")
    def list_archive(self, *, limit: int = NOT_GIVEN) -> Pages[Archived]:
        """List the archive, the last archived first."""

    @asks("POST /v1/archive", "retention.ArchiveChange", body=True, changes=True)
    def add(self, record_ids: Sequence[UUID], reason: str) -> Steps[ArchiveChange]:
        """Archive memories: default reads leave them out. Returns the memories that were not in the archive before."""

    @asks("POST /v1/archive/restore", "retention.ArchiveChange", body=True, changes=True)
    def restore(self, record_ids: Sequence[UUID]) -> Steps[ArchiveChange]:
        """Bring memories back from the archive with the tiers that they had."""

    @asks("POST /v1/archive/purge", "retention.Purge", body=True, changes=True)
    def purge(self, older_than_days: float, *, dry_run: bool = True) -> Steps[Purge]:
        """Forget memories that have been in the archive for so many days, for good: each with a receipt."""


class FailuresCalls(Group[W]):
    """Operations of the group ``failures``."""

    @lists("GET /v1/failures", "failures", "failures.Failure")
    def list(self, *, replayed: bool = NOT_GIVEN, limit: int = NOT_GIVEN) -> Pages[Failure]:
        """List segments and uploads whose last attempt failed, newest first."""

    @asks("POST /v1/failures/{failure_id}/replay", "failures.Replay", changes=True)
    def replay(self, failure_id: UUID) -> Steps[Replay]:
        """Put a failed segment or upload back into its queue with all its attempts. Repeating the call changes nothing."""


class PeersCalls(Group[W]):
    """Operations of the group ``peers``."""

    @asks("GET /v1/mirror", "mirrors.OfferedNodes")
    def list_nodes(self, nonce: str, *, since: UUID | None = NOT_GIVEN, horizon: UUID | None = NOT_GIVEN, after: UUID | None = NOT_GIVEN) -> Steps[OfferedNodes]:
        """List the nodes that a third party may read, each with a digest of its records."""

    @asks("GET /v1/mirror/nodes/{node_id}", "mirrors.OfferedRecords")
    def list_records(self, node_id: UUID, nonce: str, *, prefix: str = NOT_GIVEN) -> Steps[OfferedRecords]:
        """List the current records of a node with their versions, or digests of parts if there are many."""


class Operations(Group[W]):
    """All groups."""

    def __init__(self, sender: W) -> None:
        """Make the groups, which call through one sender."""
        super().__init__(sender)
        self.inbox = InboxCalls(sender)
        self.retrieval = RetrievalCalls(sender)
        self.users = UsersCalls(sender)
        self.files = FilesCalls(sender)
        self.graph = GraphCalls(sender)
        self.forgetting = ForgettingCalls(sender)
        self.memories = MemoriesCalls(sender)
        self.facts = FactsCalls(sender)
        self.digests = DigestsCalls(sender)
        self.links = LinksCalls(sender)
        self.access = AccessCalls(sender)
        self.organizations = OrganizationsCalls(sender)
        self.spaces = SpacesCalls(sender)
        self.webhooks = WebhooksCalls(sender)
        self.actions = ActionsCalls(sender)
        self.quarantine = QuarantineCalls(sender)
        self.retention = RetentionCalls(sender)
        self.failures = FailuresCalls(sender)
        self.peers = PeersCalls(sender)
