"""Conversations on which a local embedder is to be trained: ``python -m training`` reads and counts them.

The talks were written for Neurigraph; people and companies in them are invented. Nothing at run time reads them.
"""
