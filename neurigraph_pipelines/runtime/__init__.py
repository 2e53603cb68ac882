"""The processes of an installation: what starts them, watches them and examines them."""
