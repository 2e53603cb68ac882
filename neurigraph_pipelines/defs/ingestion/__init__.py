"""From a trigger to stored memories: the assets of a run of ingestion, its job and its sensors."""
