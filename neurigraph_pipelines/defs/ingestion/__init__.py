"""From a trigger to stored memories: what a run of ingestion makes, its job and its sensors."""
