"""Data that leaves or enters: webhooks and peers."""
