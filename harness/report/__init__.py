"""From a run to what people read. ``tables`` decides what a table says; the other files only draw it."""
