//! Where things lie: the data directory and the configuration file. Decides on names only; it opens
//! and makes nothing, and reads the environment that it is handed.

use std::path::{Path, PathBuf};

use ostler_config::Environment;

/// Why there is no place for the data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataDirError {
    /// Nothing says where home is.
    #[error(
        "there is no place to keep data, because HOME is not set; pass --data-dir or set OSTLER_DATA_DIR"
    )]
    NoHome,
    /// The directory was given as a relative path, and the current directory cannot be read.
    #[error("the data directory {0} cannot be made absolute; give it as an absolute path")]
    NotAbsolute(PathBuf),
}

/// A configuration file, and whether it has to exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Whether somebody named it; the one at the usual place may be absent.
    pub named: bool,
}

/// The data directory: `--data-dir`, `$OSTLER_DATA_DIR`, `$XDG_DATA_HOME/ostler`, or
/// `~/.local/share/ostler`. Always absolute, because the daemon and its clients start in different
/// directories and must mean the same one.
pub fn data_dir(flag: Option<&Path>, environment: &Environment) -> Result<PathBuf, DataDirError> {
    if let Some(path) = flag.map(Path::to_owned).or_else(|| environment.path("OSTLER_DATA_DIR")) {
        return std::path::absolute(&path).map_err(|_| DataDirError::NotAbsolute(path));
    }
    base_dir(environment, "XDG_DATA_HOME", ".local/share").ok_or(DataDirError::NoHome)
}

/// The configuration file: `--config`, `$OSTLER_CONFIG`, or `ostler/config.toml` in
/// `$XDG_CONFIG_HOME` or `~/.config`. `None` when nothing says where home is.
pub fn config_file(flag: Option<&Path>, environment: &Environment) -> Option<ConfigFile> {
    if let Some(path) = flag.map(Path::to_owned).or_else(|| environment.path("OSTLER_CONFIG")) {
        return Some(ConfigFile { path, named: true });
    }
    let path = base_dir(environment, "XDG_CONFIG_HOME", ".config")?.join("config.toml");
    Some(ConfigFile { path, named: false })
}

/// Ostler's directory in one of the XDG base directories, of which relative ones do not count.
fn base_dir(environment: &Environment, variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let base = environment.path(variable).filter(absolute);
    let base = base.or_else(|| Some(environment.path("HOME").filter(absolute)?.join(below_home)));
    Some(base?.join("ostler"))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use ostler_config::Environment;

    use super::{ConfigFile, DataDirError, config_file, data_dir};

    fn data(flag: Option<&str>, pairs: &[(&str, &str)]) -> Result<PathBuf, DataDirError> {
        data_dir(flag.map(Path::new), &Environment::from_pairs(pairs))
    }

    #[test]
    fn the_data_directory_comes_from_the_strongest_that_says() {
        let all = [("OSTLER_DATA_DIR", "/env"), ("XDG_DATA_HOME", "/xdg"), ("HOME", "/home/a")];
        assert_eq!(data(Some("/flag"), &all).unwrap(), Path::new("/flag"));
        assert_eq!(data(None, &all).unwrap(), Path::new("/env"));
        assert_eq!(data(None, &all[1..]).unwrap(), Path::new("/xdg/ostler"));
        assert_eq!(data(None, &all[2..]).unwrap(), Path::new("/home/a/.local/share/ostler"));
        assert_eq!(data(None, &[]), Err(DataDirError::NoHome));
    }

    #[test]
    fn empty_and_relative_base_directories_do_not_count() {
        let pairs = [("OSTLER_DATA_DIR", ""), ("XDG_DATA_HOME", "share"), ("HOME", "/home/a")];
        assert_eq!(data(None, &pairs).unwrap(), Path::new("/home/a/.local/share/ostler"));
    }

    #[test]
    fn a_relative_data_directory_becomes_absolute() {
        assert!(data(Some("here"), &[]).unwrap().is_absolute());
    }

    #[test]
    fn only_a_named_configuration_file_has_to_exist() {
        let file = |flag: Option<&str>, pairs: &[(&str, &str)]| {
            config_file(flag.map(Path::new), &Environment::from_pairs(pairs))
        };
        let named = |path: &str| Some(ConfigFile { path: path.into(), named: true });
        let usual = |path: &str| Some(ConfigFile { path: path.into(), named: false });
        let all = [("OSTLER_CONFIG", "/env.toml"), ("XDG_CONFIG_HOME", "/xdg"), ("HOME", "/home/a")];
        assert_eq!(file(Some("my.toml"), &all), named("my.toml"));
        assert_eq!(file(None, &all), named("/env.toml"));
        assert_eq!(file(None, &all[1..]), usual("/xdg/ostler/config.toml"));
        assert_eq!(file(None, &all[2..]), usual("/home/a/.config/ostler/config.toml"));
        assert_eq!(file(None, &[]), None);
    }
}
