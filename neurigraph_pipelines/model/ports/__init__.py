"""Protocols of the adapters: the database, models, object stores and other parts of the outside world.

Adapters in ``resources`` implement them; the domain does not import ``resources``. A method that uses a network raises
``TransientError`` if a retry may succeed, and otherwise ``ProviderError`` or ``StorageError``.
"""

from neurigraph_pipelines.model.ports.database import Database, Replica, TokenVerifier, Transaction
from neurigraph_pipelines.model.ports.files import (
    DropPlace,
    EncryptedStore,
    ExportReader,
    FetchedPage,
    FetchedRepository,
    ObjectStore,
    TextExtractor,
    WebFetcher,
)
from neurigraph_pipelines.model.ports.messages import PeerAnswer, PeerClient, Redactor, WebhookAnswer, WebhookSender
from neurigraph_pipelines.model.ports.models import (
    AreaReader,
    Embedder,
    Examiner,
    Expander,
    KeptFacts,
    LanguageModel,
    Reranker,
    TokenCounter,
    ToolCaller,
)

__all__ = [
    "AreaReader",
    "Database",
    "DropPlace",
    "Embedder",
    "EncryptedStore",
    "Examiner",
    "Expander",
    "ExportReader",
    "FetchedPage",
    "FetchedRepository",
    "KeptFacts",
    "LanguageModel",
    "ObjectStore",
    "PeerAnswer",
    "PeerClient",
    "Redactor",
    "Replica",
    "Reranker",
    "TextExtractor",
    "TokenCounter",
    "TokenVerifier",
    "ToolCaller",
    "Transaction",
    "WebFetcher",
    "WebhookAnswer",
    "WebhookSender",
]
