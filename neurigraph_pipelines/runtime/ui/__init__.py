"""Dagster's UI behind a token: the guard of every request, and the server, which runs as a process of its own."""
