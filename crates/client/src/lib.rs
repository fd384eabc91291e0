//! Typed client of the http door.
