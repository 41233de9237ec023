"""Where an adapter's worker runs: a virtual environment or a container made by the harness, or an interpreter or image of the user's."""
