"""A worker: a process that takes runs from Redis and executes each in a fork of its own."""
