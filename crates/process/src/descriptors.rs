//! What this process was started with and no child of it is to have.

/// The first descriptor that is not one of the standard three.
const FIRST: i32 = 3;

/// Keeps the descriptors that this process inherited from whoever started it away from every process that it
/// starts itself. To be called at the start of `main`; everything opened later is closed on `exec` anyway.
pub fn close_inherited_descriptors() {
    close_fds::set_fds_cloexec(FIRST, &[]);
}
