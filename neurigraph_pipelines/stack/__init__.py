"""Everything on one machine: the processes of `neurigraph up`, and the demo."""
