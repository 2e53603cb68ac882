"""What Neurigraph costs: one module a benchmark, each with a function ``run`` that gives a section of the page.

Correctness is for the tests; nothing here fails because a figure is bad.
"""
