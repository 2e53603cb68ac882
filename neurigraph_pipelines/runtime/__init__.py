"""The processes of an installation: starting, watching and examining them."""
