//! The binary ostler: arguments, configuration, wiring.
