"""Adapters to the outside world; the only package that imports vendor SDKs.

``postgres`` is the embedded server and the database adapter, ``storage`` the object stores and drop places (folder and
S3), ``providers`` the model services reached over HTTP, ``minilm`` the local embedder, ``tokens`` the token counters,
``offline`` the language model made of rules, ``extractors`` the readers of uploaded files, and ``prompts`` the
instructions sent to language models. Single modules send failure reports (``webhook``), verify tokens that other
services signed (``json_web_tokens``) and redact texts (``redaction``).

Each adapter implements a protocol of ``neurigraph_pipelines.model.ports`` and contains no domain rules. SDKs that are
slow to import are imported inside the methods that need them, because every Dagster run pays for module-level imports.
"""
