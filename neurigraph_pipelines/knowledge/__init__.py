"""Knowledge: what the stored records state, as single facts.

The records themselves belong to ``ingestion``, and search to ``retrieval``.
"""
