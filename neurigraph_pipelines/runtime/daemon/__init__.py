"""Dagster's daemon as a process of its own, whose sensors and queue wake up when there is work."""
