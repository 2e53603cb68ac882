"""Postgres: the embedded server and the database adapter."""
