"""Answering questions: search, answers with citations, and opening files.

- ``index`` is what a process caches of a graph; ``query`` is the path of a question through it.
- ``ask`` writes an answer from what a search found, ``excerpts`` picks the quoted text.
- ``open`` reads a file, or one message of it.

Nothing here writes memories; ``ingestion`` does.
"""
