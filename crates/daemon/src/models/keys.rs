//! Where the key of a provider comes from: a variable, a file that nobody else can read, or a command.
//! Whatever goes wrong is told with the place to put the key, and never with anything of the key.

mod command;

use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use ostler_config::{Environment, ProviderSection};
use ostler_models::{ModelError, ProviderKey, ProviderPreset, ProviderReadiness, Secret};
use ostler_process::ProgramFinder;
use rustix::fs::OFlags;

/// The largest key that is read.
const MAX_KEY: u64 = 64 * 1024;

/// A provider's key, as far as it is known before it is needed.
pub(super) struct KeyLocation {
    pub(super) key: ProviderKey,
    pub(super) readiness: ProviderReadiness,
    /// Where it comes from, in words; none if the provider wants no key.
    pub(super) from: Option<String>,
}

/// Where a provider's key comes from, and what it lacks if it is not there. A provider that was moved away
/// from the place of its preset is used without a key when there is none.
pub(super) fn locate_key(
    name: &str,
    provider: &ProviderSection,
    preset: Option<&ProviderPreset>,
    is_moved: bool,
    environment: &Environment,
) -> KeyLocation {
    if let Some(variable) = &provider.api_key_env {
        return key_from_variable(name, &[variable.as_str()], environment);
    }
    if let Some(file) = &provider.api_key_file {
        return key_from_file(name, expand_home(file, environment));
    }
    match preset.map(|preset| preset.key_variables) {
        None | Some([]) => no_key(),
        Some(variables)
            if is_moved && !variables.iter().any(|variable| environment.get(variable).is_some()) =>
        {
            no_key()
        }
        Some(variables) => key_from_variable(name, variables, environment),
    }
}

/// A provider's key that a command prints.
pub(super) fn key_from_command(name: &str, command: &[String], programs: &ProgramFinder) -> KeyLocation {
    // People put secrets in arguments, so that only the program is named.
    let from = command.first().map(|program| format!("the command `{program}`"));
    let key = command::key(name.to_owned(), command.to_owned(), programs.clone());
    KeyLocation { key, readiness: ProviderReadiness::default(), from }
}

/// A path, with the home directory in the place of `~`.
pub(super) fn expand_home(path: &str, environment: &Environment) -> PathBuf {
    match (path.strip_prefix("~/"), environment.path("HOME")) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) | (None, _) => PathBuf::from(path),
    }
}

fn key_from_variable(name: &str, variables: &[&str], environment: &Environment) -> KeyLocation {
    let found = variables.iter().find_map(|variable| Some((*variable, environment.get(variable)?.to_str()?)));
    let variable = found.map(|(variable, _)| variable).or(variables.first().copied()).unwrap_or_default();
    let from = Some(format!("the variable {variable} in the environment of the daemon"));
    if let Some(key) = found.map(|(_, key)| Secret::new(key)).filter(|key| !key.is_empty()) {
        return KeyLocation { key: ProviderKey::Fixed(key), readiness: ProviderReadiness::default(), from };
    }
    let missing = format!("it has no key: set {variable} in the environment of the daemon");
    let error = missing_key(name, &format!("the variable {variable} is not set")).hint(format!(
        "set {variable} in the environment that the daemon is started from, and start it again; \
         or name a file with `api_key_file` in [providers.{name}]"
    ));
    let source = Arc::new(move |_| std::future::ready(Err(error.clone())).boxed());
    KeyLocation {
        key: ProviderKey::Found(source),
        readiness: ProviderReadiness::from_check(move || Some(missing.clone())),
        from,
    }
}

fn no_key() -> KeyLocation {
    KeyLocation { key: ProviderKey::None, readiness: ProviderReadiness::default(), from: None }
}

fn key_from_file(name: &str, path: PathBuf) -> KeyLocation {
    let from = Some(format!("the file {}", path.display()));
    let (name, path): (Arc<str>, Arc<Path>) = (name.into(), path.into());
    let (checked, checked_path) = (name.clone(), path.clone());
    let readiness = ProviderReadiness::from_check(move || {
        let error = read(&checked, &checked_path).err()?;
        Some(match error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message,
        })
    });
    // Read each time, so that a key that was replaced is found; it is a small file.
    let source = Arc::new(move |_| {
        let (name, path) = (name.clone(), path.clone());
        let reading = tokio::task::spawn_blocking(move || read(&name, &path));
        reading
            .map(|read| read.unwrap_or_else(|error| Err(ModelError::new("unauthorized", error.to_string()))))
            .boxed()
    });
    KeyLocation { key: ProviderKey::Found(source), readiness, from }
}

fn read(name: &str, path: &Path) -> Result<Secret, ModelError> {
    let shown = path.display();
    let fail = |why: String| missing_key(name, &format!("the file {shown} {why}"));
    let write = format!("write the key to {shown}, then `chmod 600 {shown}`");
    // A pipe in its place must not hold up the session.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| fail(format!("cannot be read: {error}")).hint(write.clone()))?;
    // Asked of what was opened, so that nothing can be put in its place in between.
    let found = file.metadata().map_err(|error| fail(format!("cannot be looked at: {error}")))?;
    if !found.is_file() {
        return Err(fail("is not a regular file".to_owned()).hint(write));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(
            fail("belongs to another user".to_owned()).hint(format!("make a file of your own: {write}"))
        );
    }
    if found.mode() & 0o077 != 0 {
        let why = format!("can be read or changed by other users (its mode is {:o})", found.mode() & 0o777);
        return Err(fail(why).hint(format!("run `chmod 600 {shown}`")));
    }
    let mut text = String::new();
    let read = file.take(MAX_KEY + 1).read_to_string(&mut text);
    match read {
        Ok(_) if text.trim().is_empty() => Err(fail("is empty".to_owned()).hint(write)),
        Ok(length) if length as u64 > MAX_KEY => Err(fail("is too large for a key".to_owned()).hint(write)),
        Ok(_) => Ok(Secret::new(text)),
        Err(error) => Err(fail(format!("cannot be read: {error}")).hint(write)),
    }
}

fn missing_key(name: &str, why: &str) -> ModelError {
    ModelError::new("unauthorized", format!("provider `{name}` has no key: {why}"))
}
