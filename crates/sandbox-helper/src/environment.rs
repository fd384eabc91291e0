//! The environment of a confined program, as data: in a file of the daemon's own that the helper outside opens and
//! removes, and hands on by its descriptor. So nothing outside the sandbox has any of it in its own environment,
//! where a loader, a C library or a shell would obey it. Only the helper inside gives it to the program.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The variable that tells the helper inside which descriptor it is.
pub(crate) const DESCRIPTOR_VARIABLE: &str = "OSTLER_ENVIRONMENT";
/// How much of it there may be: what the kernel takes for a program, about.
const MAXIMUM_BYTES: u64 = 8 << 20;

/// A variable and its value.
pub type EnvironmentVariable = (OsString, OsString);

/// Writes variables to a file that only this user can read.
pub fn write_environment(path: &Path, variables: &[EnvironmentVariable]) -> io::Result<()> {
    let mut bytes = Vec::new();
    for (name, value) in variables {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(b'=');
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(0);
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(&bytes)
}

/// Opens such a file and removes it.
pub(crate) fn open_and_remove(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// Reads variables. Later ones replace earlier ones of the same name.
pub(crate) fn read(file: File) -> io::Result<Vec<EnvironmentVariable>> {
    let mut bytes = Vec::new();
    file.take(MAXIMUM_BYTES).read_to_end(&mut bytes)?;
    let mut variables: Vec<EnvironmentVariable> = Vec::new();
    for line in bytes.split(|byte| *byte == 0) {
        let Some(end) = line.iter().position(|byte| *byte == b'=').filter(|end| *end > 0) else { continue };
        let (name, value) = (line[..end].to_vec(), line[end + 1..].to_vec());
        let name = OsString::from_vec(name);
        variables.retain(|(known, _)| *known != name);
        variables.push((name, OsString::from_vec(value)));
    }
    Ok(variables)
}

/// Reads the variables that were handed on to this process by a descriptor.
pub(crate) fn read_inherited() -> Result<Vec<EnvironmentVariable>, String> {
    let number = std::env::var(DESCRIPTOR_VARIABLE).map_err(|_| "its program's environment is missing")?;
    let number: u32 = number.parse().map_err(|_| "its program's environment is not a number")?;
    let read = File::open(format!("/proc/self/fd/{number}")).and_then(read);
    read.map_err(|error| format!("its program's environment: {error}"))
}
