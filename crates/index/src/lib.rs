//! What can be rebuilt from logs: list, filter, full-text search.
