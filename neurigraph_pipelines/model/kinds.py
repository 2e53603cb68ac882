"""Kinds, states and roles, with the labels of the Postgres enums of the same name; and limits of the schema."""

from __future__ import annotations

from enum import StrEnum

MAX_LAYER_DEPTH = 5
"""Deepest layer of a node below the user root, which is layer 0."""

RECORD_DIMENSIONS = 1536
"""Width of a record's embedding column; shorter vectors are padded with zeros."""

PASSAGE_DIMENSIONS = 512
"""Width of a passage's half-precision embedding columns."""


class NodeType(StrEnum):
    """Kind of a node for access control."""

    CONCEPT = "concept"
    PERSONA = "persona"


class SubjectType(StrEnum):
    """Kind of a subject that can be granted a node of another user's graph."""

    PERSONA = "persona"
    THIRD_PARTY = "third_party"


class GrantType(StrEnum):
    """What a grant of a node allows."""

    READ = "read"
    READ_WRITE = "read_write"


class Tier(StrEnum):
    """How long a record is meant to be kept: some hours, some days, or for good."""

    SHORT = "short"
    MID = "mid"
    LONG = "long"


class ConceptKind(StrEnum):
    """What a concept node represents."""

    USER = "user"
    TOPIC = "topic"
    PERSON = "person"
    PROJECT = "project"
    ORGANIZATION = "organization"
    PLACE = "place"
    THING = "thing"


class MentionRole(StrEnum):
    """What a node is in a record that speaks of it. The subject is the node that the record is filed at."""

    MENTION = "mention"
    SUBJECT = "subject"
    AUTHOR = "author"
    OWNER = "owner"
    ASSIGNEE = "assignee"
    COMPONENT = "component"


class Detector(StrEnum):
    """What found a mention or a relation."""

    RULE = "rule"
    MODEL = "model"
    PERSON = "person"


class Stance(StrEnum):
    """What evidence says of an edge."""

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
    """What a memory was made from."""

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


SETTLED = frozenset({Progress.STORED, Progress.FAILED})
"""States that change only with new messages, or by a replay."""
