"""Quarantine: memories that are kept and that no retrieval finds; and suggestions of further ones."""
