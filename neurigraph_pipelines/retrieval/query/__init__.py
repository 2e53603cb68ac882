"""The path of a question: parse, evidence, select, load, rank, present.

``search`` is what faces call. ``phase_one`` runs the steps for a question as given, without reading times from its
words and without reranking. Each step is a module that takes and returns typed values.
"""
