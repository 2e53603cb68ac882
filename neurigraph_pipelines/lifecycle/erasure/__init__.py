"""Permanent erasure of a record, a node with all nodes below it, or a user, with all derived data.

``forget`` is the entry point. ``rows`` erases rows and the rows that follow from them, ``journal`` removes objects,
``receipts`` reads and writes receipts, and ``scrubbing`` rewrites tables.
"""
