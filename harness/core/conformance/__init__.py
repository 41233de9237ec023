"""The proofs that every adapter must pass before a number of it is ranked. They run in the adapter's environment."""
