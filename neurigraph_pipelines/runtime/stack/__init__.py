"""An installation on one machine: the processes of `neurigraph up`, and the demo."""
