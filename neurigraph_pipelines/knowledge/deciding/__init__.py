"""Deciding: votes on actions, carrying out approved actions, and setting standards."""
