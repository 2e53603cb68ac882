"""Export of all data of a user to open file formats (``export``), and restore into another database (``restore``)."""
