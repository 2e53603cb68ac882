"""Governance: standards of nodes, actions that wait for a decision, and the votes on them."""
