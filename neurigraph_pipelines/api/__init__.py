"""The HTTP face. It translates between JSON and the domain and decides nothing."""
