"""Knowledge: the statements of stored records, as single facts.

The records themselves belong to ``ingestion``, and search to ``retrieval``.
"""
