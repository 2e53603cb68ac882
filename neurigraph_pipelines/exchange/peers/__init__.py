"""Peers: other installations, which mirror granted nodes by pulling."""
