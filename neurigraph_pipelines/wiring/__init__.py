"""The adapters that an installation uses, and the databases over which its users are spread."""
