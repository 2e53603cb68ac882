"""Deciding: votes on actions, carrying out what was approved, and setting standards."""
