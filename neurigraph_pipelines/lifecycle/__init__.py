"""The lifecycle of files: storage keys, state transitions, sweeps, rehydration, verification and storage reports."""
