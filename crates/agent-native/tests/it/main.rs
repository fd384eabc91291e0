//! The native agent's loop, driven by a scripted model and small tools in a host without disk.

mod answers;
mod batches;
mod calls;
mod cancel;
mod fixture;
mod limits;
mod resume;
mod steering;
mod tools;
mod verify;
