"""Knowledge that follows from memories: facts, verdicts, actions, digests and profiles."""
