"""Faults of an installation, each with its remedy.

- ``examination`` looks at everything in turn; a look that fails is a finding.
- ``machine`` looks at packages, disk, permissions and secrets, ``memory`` at the database, the models, the queue and
  Dagster's records. Neither changes anything, but for the probes of ``readiness``.

Every finding names its remedy. Repairing belongs to the commands that the remedies name.
"""
