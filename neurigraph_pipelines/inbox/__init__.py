"""Arriving sources: conversations, events, notes, uploads, imports, vaults and repositories."""
