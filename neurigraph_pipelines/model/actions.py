"""Vocabulary of actions and standards: what somebody has to decide about, how it stands, and who may do what."""

from __future__ import annotations

from enum import StrEnum


class ActionKind(StrEnum):
    """What is done if an action is approved.

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


class ActionState(StrEnum):
    """The state of an action. An approved one is about to be carried out, or its process died before it was."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXECUTED = "executed"
    FAILED = "failed"
    EXPIRED = "expired"


class Rule(StrEnum):
    """Who may do something, of those who have a grant to write: all, all but jobs, nobody, or after an approval.

    The owner of the graph always may.
    """

    ANY = "any"
    REGISTERED = "registered"
    OWNER = "owner"
    APPROVE = "approve"
