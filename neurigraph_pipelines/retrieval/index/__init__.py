"""What search holds in memory: metadata layers, shells, names, postings, sign hashes and caches."""
