"""Deliberate breaks and generated mutants: proof that the tests notice when a defence is gone."""
