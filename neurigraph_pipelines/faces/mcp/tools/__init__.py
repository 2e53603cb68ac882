"""The tools that agents call, by subject. Each takes arguments of operations, does them and shows their views."""

BY_HAND = {
    "searchDatabase": "the tool of another memory system, with its names: as `/v3`, it is no operation of this one",
    "open_memory": "it reads messages from a file as far as the budget goes, or those of a source that is none yet",
    "forget": "one call erases many things, and a token of its dry run stands for the question to a person",
}
"""Tools whose arguments do not follow from operations, with the reason."""
