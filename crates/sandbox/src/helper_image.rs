//! How the helper is started: as the small program that is embedded here, from memory that nobody can write to any more,
//! or else as the program of the settings. The small one starts in a tenth of the time that the whole of Ostler takes,
//! and every command starts it twice.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use ostler_process::{Invocation, Program};
use ostler_sandbox_helper::CHECK_COMMAND;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use crate::sandbox::SandboxSettings;

static EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/helper"));
/// What it is called in lists of processes.
const NAME: &str = "ostler-sandbox-helper";
/// How long it may take to show that it can be started.
const CHECK_TIME: Duration = Duration::from_secs(10);

/// The embedded helper in memory, for all sandboxes of this process; none where the kernel refuses. It stays open for as
/// long as this process lives, and no process inherits it.
static IMAGE: OnceLock<Option<OwnedFd>> = OnceLock::new();

/// Which program is the helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HelperImage {
    /// The embedded one.
    Embedded,
    /// That of the settings.
    Given,
}

impl HelperImage {
    /// The embedded one, if it may be used and can be started here.
    pub(crate) async fn find(may_embed: bool) -> HelperImage {
        let Some(program) = embedded().filter(|_| may_embed) else { return HelperImage::Given };
        let mut command = Invocation::new(program).args([CHECK_COMMAND]).prepare();
        match tokio::time::timeout(CHECK_TIME, command.output()).await {
            Ok(Ok(output)) if output.status.success() => HelperImage::Embedded,
            Ok(_) | Err(_) => HelperImage::Given,
        }
    }

    /// The program and the arguments that lead to its parts.
    pub(crate) fn program(self, settings: &SandboxSettings) -> (Program, Vec<OsString>) {
        match (self, embedded()) {
            (HelperImage::Embedded, Some(program)) => (program, Vec::new()),
            (HelperImage::Embedded, None) | (HelperImage::Given, _) => {
                (settings.helper.clone(), settings.helper_arguments.clone())
            }
        }
    }
}

fn embedded() -> Option<Program> {
    let image = IMAGE.get_or_init(|| sealed(EMBEDDED).ok()).as_ref()?;
    // In the process that starts it, just before it becomes the helper: its descriptors are still those of this one.
    let path = PathBuf::from(format!("/proc/self/fd/{}", image.as_raw_fd()));
    Some(Program::at(path).with_name(NAME.into()))
}

/// A program in memory, whose bytes cannot change any more.
fn sealed(program: &[u8]) -> std::io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let made = match memfd_create(NAME, flags | MemfdFlags::EXEC) {
        // Kernels before 6.3 do not know the flag, and make every such file executable.
        Err(Errno::INVAL) => memfd_create(NAME, flags),
        made => made,
    };
    let mut image = File::from(made?);
    image.write_all(program)?;
    fcntl_add_seals(&image, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(image.into())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{ErrorKind, Write};

    use super::{HelperImage, sealed};

    #[tokio::test]
    async fn the_embedded_helper_starts_here() {
        assert_eq!(HelperImage::find(true).await, HelperImage::Embedded);
    }

    #[test]
    fn nobody_writes_to_it() {
        let mut image = File::from(sealed(b"bytes").unwrap());
        assert_eq!(image.write_all(b"more").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(image.set_len(0).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
}
