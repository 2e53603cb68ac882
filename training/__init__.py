"""Training of the local embedder on conversations: ``python -m training --help``.

Belongs here: reading talks, making pairs, tuning the weights, measuring them and writing the model card. The arithmetic
at run time is in ``resources.minilm``. Only ``encoder`` and ``tuning`` import torch, the extra ``training``.
"""
