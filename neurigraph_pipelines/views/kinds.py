"""Kinds, states and roles that callers see, with the labels of the Postgres enums of the same name."""

from __future__ import annotations

from enum import StrEnum


class NodeType(StrEnum):
    """Kind of a node for access control."""

    CONCEPT = "concept"
    PERSONA = "persona"


class SubjectType(StrEnum):
    """Kind of a subject that can be granted a node of another user's graph."""

    PERSONA = "persona"
    THIRD_PARTY = "third_party"


class GrantType(StrEnum):
    """The rights that a grant of a node gives."""

    READ = "read"
    READ_WRITE = "read_write"


class Tier(StrEnum):
    """How long a record is meant to be kept: some hours, some days, or for good."""

    SHORT = "short"
    MID = "mid"
    LONG = "long"


class ConceptKind(StrEnum):
    """The kind of thing that a concept node represents."""

    USER = "user"
    TOPIC = "topic"
    PERSON = "person"
    PROJECT = "project"
    ORGANIZATION = "organization"
    PLACE = "place"
    THING = "thing"


class MentionRole(StrEnum):
    """The role of a node in a record that speaks of it. The subject is the node that the record is filed at."""

    MENTION = "mention"
    SUBJECT = "subject"
    AUTHOR = "author"
    OWNER = "owner"
    ASSIGNEE = "assignee"
    COMPONENT = "component"


class Detector(StrEnum):
    """The method that found a mention or a relation."""

    RULE = "rule"
    MODEL = "model"
    PERSON = "person"


class Stance(StrEnum):
    """The stance of a piece of evidence towards an edge."""

    ASSERTS = "asserts"
    ENDS = "ends"
    DENIES = "denies"


class AliasType(StrEnum):
    """Kind of another name or id of a node. All but names belong to one node."""

    NAME = "name"
    FORMER_NAME = "former_name"
    EMAIL = "email"
    HANDLE = "handle"
    PHONE = "phone"
    URL = "url"
    EXTERNAL = "external"


class TriggerType(StrEnum):
    """Why a segment is stored."""

    CONVERSATION_END = "conversation_end"
    CHUNK_THRESHOLD = "chunk_threshold"
    EVENT_BOUNDARY = "event_boundary"


class SourceKind(StrEnum):
    """Where a segment comes from."""

    CONVERSATION = "conversation"
    EVENT = "event"
    UPLOAD = "upload"
    NOTE = "note"


class Privacy(StrEnum):
    """Whether subjects that are granted the nodes of a source may see it, or only the owner of the graph."""

    SHARED = "shared"
    PRIVATE = "private"


class EventKind(StrEnum):
    """Kind of an event, which has a start and an end in the world."""

    MEETING = "meeting"
    CALL = "call"
    WORK_SESSION = "work_session"
    MILESTONE = "milestone"


class ContentType(StrEnum):
    """The kind of source that a memory was made from."""

    CONVERSATION = "conversation"
    EVENT = "event"
    FILE_UPLOAD = "file_upload"
    NOTE = "note"
    OTHER = "other"


class CompressionState(StrEnum):
    """State of a file, or of a node's file layer."""

    ACTIVE = "active"
    DORMANT = "dormant"
    REHYDRATING = "rehydrating"


class CompressionCause(StrEnum):
    """Why a file changed its state."""

    SCHEDULER = "scheduler"
    RETRIEVAL = "retrieval"
    TTL_EXPIRY = "ttl_expiry"
    MANUAL = "manual"


class Role(StrEnum):
    """Author role of a message, as in chat APIs."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Progress(StrEnum):
    """How far a source is. A failed one needs a person: ``failure_id`` names the failure to replay."""

    OPEN = "open"
    WAITING = "waiting"
    STORING = "storing"
    STORED = "stored"
    FAILED = "failed"


class ReceivedThrough(StrEnum):
    """The door that a text came through."""

    API = "api"
    CLI = "cli"
    IMPORT = "import"
    DROP = "drop"
    MCP = "mcp"
    WEB = "web"
    PEER = "peer"
    DIGEST = "digest"


class Voice(StrEnum):
    """Who speaks in a passage, as the server knows it.

    A persona is known by its key, not by its stated author. ``OTHER_PERSON`` is anybody but the owner in a
    conversation or event that the owner handed in.
    """

    OWNER = "owner"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    PERSONA = "persona"
    OTHER_PERSON = "other_person"
    DOCUMENT = "document"
    FETCHED = "fetched"


class MessageType(StrEnum):
    """Type of a message. The last three are events of tools."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    ERROR = "error"

    @property
    def role(self) -> Role:
        """The role of its messages."""
        return _ROLES[self]


_ROLES = {
    MessageType.USER: Role.USER,
    MessageType.ASSISTANT: Role.ASSISTANT,
    MessageType.TOOL_USE: Role.ASSISTANT,
    MessageType.TOOL_RESULT: Role.TOOL,
    MessageType.ERROR: Role.TOOL,
}


class DocumentType(StrEnum):
    """The type of a source. The first twelve are known from other memory systems."""

    TEXT = "text"
    PDF = "pdf"
    TWEET = "tweet"
    GOOGLE_DOC = "google_doc"
    GOOGLE_SLIDE = "google_slide"
    GOOGLE_SHEET = "google_sheet"
    IMAGE = "image"
    VIDEO = "video"
    NOTION_DOC = "notion_doc"
    WEBPAGE = "webpage"
    ONEDRIVE = "onedrive"
    REPOSITORY = "repository"
    DOCUMENT = "document"
    TABLE = "table"
    AUDIO = "audio"
    CODE = "code"
    FILE = "file"
    CONVERSATION = "conversation"
    EVENT = "event"
    NOTE = "note"


class Channel(StrEnum):
    """Who could read a source where it comes from."""

    DM = "dm"
    PRIVATE = "private"
    PUBLIC = "public"


class FactKind(StrEnum):
    """The kind of statement that a fact makes."""

    EVENT = "event"
    STATE = "state"
    PREFERENCE = "preference"
    PLAN = "plan"
    DECISION = "decision"
    COMMITMENT = "commitment"
    RELATION = "relation"
    QUANTITY = "quantity"
    OTHER = "other"


class StatedAs(StrEnum):
    """How sure its speaker was: said as so, concluded or supposed, or noticed in passing."""

    STATEMENT = "statement"
    INFERENCE = "inference"
    OBSERVATION = "observation"


class FactStatus(StrEnum):
    """The status of a fact. It is superseded while a later version, or a newer memory, stands."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"
    ARCHIVED = "archived"


class Impact(StrEnum):
    """How long a fact matters: for good, for about a year, or for about a season."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class EndKind(StrEnum):
    """The kind of an end of a link; a link starts at a kind of the first two."""

    FACT = "fact"
    RECORD = "record"
    NODE = "node"
    SOURCE = "source"


class LinkVerdict(StrEnum):
    """The decision of people about a link."""

    UNVERIFIED = "unverified"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"


class Attest(StrEnum):
    """Whether a link is signed: not at all, by the one who says so, or by another installation."""

    UNSIGNED = "unsigned"
    SELF = "self"
    PEER = "peer"


class Verdict(StrEnum):
    """The relation of a later fact to an earlier one."""

    SAME = "same"
    UPDATES = "updates"
    CONTRADICTS = "contradicts"
    ELABORATES = "elaborates"
    SUPPORTS = "supports"
    DEPENDS_ON = "depends_on"
    UNRELATED = "unrelated"


class Effect(StrEnum):
    """The effect of a verdict: the earlier fact is superseded, both are disputed, or a person decides."""

    SUPERSEDES = "supersedes"
    DISPUTES = "disputes"
    FLAGGED = "flagged"
    NONE = "none"


class ActionKind(StrEnum):
    """The change that an approved action makes.

    ``resolve`` keeps the first of two facts that contradict each other and takes the second back.
    """

    STORE = "store"
    DELETE = "delete"
    PROMOTE = "promote"
    ARCHIVE = "archive"
    RESTORE = "restore"
    SUPERSEDE = "supersede"
    LINK = "link"
    MERGE_NODES = "merge_nodes"
    RESOLVE = "resolve"
    DIGEST = "digest"
    MOVE = "move"


class ActionState(StrEnum):
    """The state of an action. An approved one is about to be carried out, or its process died before it was."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXECUTED = "executed"
    FAILED = "failed"
    EXPIRED = "expired"


class Rule(StrEnum):
    """Who may do something, among holders of a grant to write: all, all but jobs, nobody, or after an approval.

    The owner of the graph always may.
    """

    ANY = "any"
    REGISTERED = "registered"
    OWNER = "owner"
    APPROVE = "approve"


class MemberRole(StrEnum):
    """The rights of a member of an organization."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"


SETTLED = frozenset({Progress.STORED, Progress.FAILED})
"""States that change only with new messages, or by a replay."""
