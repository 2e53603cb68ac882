"""Search speed as memories grow. Search quality is in ``benchmarks.quality``; ``NOTES.md`` has tuning notes."""
