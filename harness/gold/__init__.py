"""Gold: published throughput tables as data, with their conditions; and how such tables are read from files."""
