"""Where an adapter's worker runs: a virtual environment made by the harness, or an interpreter that the user names."""
