"""All of a user in open files, and back: ``export`` writes them, ``restore`` reads them into another database."""
