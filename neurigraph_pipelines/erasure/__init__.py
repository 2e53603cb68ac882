"""Forgetting: a record, a node with all below it, or a user, with everything that was made of them.

``forget`` is what faces call; ``rows`` takes rows away, each transaction whole; ``traces`` finds what a forgotten text
left in shells and candidates; ``journal`` removes objects; ``receipts`` says what was done.
"""
