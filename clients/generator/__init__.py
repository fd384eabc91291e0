"""What turns the daemon's own documents into the types of the client libraries."""
