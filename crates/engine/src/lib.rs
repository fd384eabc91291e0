//! Session actors: the only way a session changes.
