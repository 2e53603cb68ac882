"""Backups of a whole installation: ``create`` makes them, ``load`` restores them, and ``check`` verifies them.

``folder`` knows the files of a backup folder. A user's own data in open formats is ``portability``.
"""
