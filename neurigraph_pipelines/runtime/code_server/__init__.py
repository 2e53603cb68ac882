"""Dagster's code server as a process of its own, whose runs are forks of one process that has imported everything."""
