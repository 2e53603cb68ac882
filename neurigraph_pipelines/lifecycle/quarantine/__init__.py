"""Quarantine: memories that are kept and that no retrieval finds; and suggestions of what belongs there."""
