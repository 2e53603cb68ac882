"""What a process holds in memory to answer questions: layers, postings, shells, names and caches."""
