//! The native agent: turn, step, tool call.
