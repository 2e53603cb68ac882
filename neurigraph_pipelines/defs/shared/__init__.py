"""What modules of several topics use. It defines nothing."""
