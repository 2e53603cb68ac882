"""The tools that agents call, by subject. Each takes checked arguments, calls the domain and shows its answer."""
