"""Tools of modules of several topics. It defines nothing."""
