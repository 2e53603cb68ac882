"""The part of search in memory: metadata layers, shells, names, postings, sign hashes and caches."""
