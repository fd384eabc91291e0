//! Reads what the configuration is made of: the environment of this process and the file. What they mean is left to
//! the crate `config`.

pub(crate) mod edit;
pub(crate) mod set;

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use ostler_config::{ConfigError, ConfigFlag, ConfigInputs, Environment, FileText, LoadedConfig};

use crate::paths::ConfigFile;

/// The largest file that is read.
const FILE_LIMIT: u64 = 1 << 20;

/// The environment that this process was given.
pub fn process_environment() -> Environment {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect()
}

/// Reads all layers and checks what they come to. The file is the one that [`crate::paths::config_file`] finds.
pub fn load(
    file: Option<&ConfigFile>,
    environment: &Environment,
    flags: &[ConfigFlag],
) -> Result<LoadedConfig, ConfigError> {
    let file = file.map(read).transpose()?.flatten();
    ostler_config::load(ConfigInputs { file: file.as_ref(), environment, flags })
}

/// Reads a file; `None` when it is absent and nobody named it.
fn read(file: &ConfigFile) -> Result<Option<FileText>, ConfigError> {
    let origin = file.path.display().to_string();
    let fail = |message: String| ConfigError::new(origin.clone(), None, message);
    let size = match std::fs::metadata(&file.path) {
        // It names programs to run and where keys go.
        Ok(metadata) if metadata.is_file() && metadata.mode() & 0o002 != 0 => {
            return Err(fail(format!(
                "every user of this machine can write the configuration file; run: chmod o-w {origin}"
            )));
        }
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == ErrorKind::NotFound && !file.named => return Ok(None),
        Err(error) => return Err(fail(format!("the configuration file cannot be read: {error}"))),
    };
    if size > FILE_LIMIT {
        return Err(fail(format!("the configuration file is larger than {} MiB", FILE_LIMIT >> 20)));
    }
    let text = std::fs::read_to_string(&file.path)
        .map_err(|error| fail(format!("the configuration file cannot be read: {error}")))?;
    Ok(Some(FileText { path: file.path.clone(), text }))
}
