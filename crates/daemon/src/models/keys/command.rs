//! A key that a command prints. It runs when the key is first needed, without a shell and without input,
//! and again when the provider has refused what it printed. What it says on stderr goes nowhere, since it
//! may hold secrets.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use ostler_models::{KeyFreshness, ModelError, ProviderKey, Secret};
use ostler_process::{Invocation, ProgramFinder};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::Child;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::{MAX_KEY, missing_key};

/// How long the command may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The key that this program prints, with these arguments.
pub(super) fn key(name: String, command: Vec<String>, programs: ProgramFinder) -> ProviderKey {
    let printed = Arc::new(KeyCommand { name, command, programs, key: Mutex::default() });
    ProviderKey::Found(Arc::new(move |fresh| {
        let printed = printed.clone();
        async move { printed.find(&fresh).await }.boxed()
    }))
}

struct KeyCommand {
    name: String,
    command: Vec<String>,
    programs: ProgramFinder,
    /// Replaced when the key in it was refused. Whoever waits for one waits for the same.
    key: Mutex<Arc<OnceCell<Secret>>>,
}

impl KeyCommand {
    async fn find(&self, fresh: &KeyFreshness) -> Result<Secret, ModelError> {
        let cell = {
            let mut cell = self.key.lock().unwrap_or_else(PoisonError::into_inner);
            match fresh {
                KeyFreshness::Replacing(refused) if cell.get() == Some(refused) => *cell = Arc::default(),
                KeyFreshness::Replacing(_) | KeyFreshness::Any => {}
            }
            cell.clone()
        };
        cell.get_or_try_init(|| self.run()).await.cloned()
    }

    async fn run(&self) -> Result<Secret, ModelError> {
        let program = self.command.first().map(String::as_str).unwrap_or_default();
        let fail = |why: String| {
            missing_key(&self.name, &format!("the command `{program}` {why}")).hint(format!(
                "run the `api_key_command` of [providers.{}] in a terminal; it must print the key and nothing else",
                self.name
            ))
        };
        let found = self.programs.find(program).map_err(|error| fail(format!("is not run: {error}")))?;
        // It may need whatever its owner has set for it, but loads and starts nothing from a workspace.
        let invocation = Invocation::new(found).args(self.command.iter().skip(1));
        let mut command = invocation.inherit_open_environment(&self.programs).prepare();
        command.stdout(Stdio::piped()).stderr(Stdio::null()).own_group();
        let child = command.spawn().map_err(|error| fail(format!("cannot be started: {error}")))?;
        let mut running = KeyCommandProcess(child);
        let ended = timeout(LIMIT, running.output()).await;
        let output = ended.map_err(|_| fail(format!("did not end within {LIMIT:?}")))?;
        let (text, status) = output.map_err(|error| fail(format!("cannot be read: {error}")))?;
        if !status.success() {
            return Err(fail(format!("failed ({status})")));
        }
        let key = String::from_utf8(text).map(Secret::new).ok().filter(|key| !key.is_empty());
        key.ok_or_else(|| fail("printed no key".to_owned()))
    }
}

/// A command that does not outlive its use, nor do its children.
struct KeyCommandProcess(Child);

impl KeyCommandProcess {
    async fn output(&mut self) -> std::io::Result<(Vec<u8>, std::process::ExitStatus)> {
        let mut text = Vec::new();
        if let Some(stdout) = self.0.stdout.take() {
            stdout.take(MAX_KEY).read_to_end(&mut text).await?;
        }
        Ok((text, self.0.wait().await?))
    }
}

impl Drop for KeyCommandProcess {
    fn drop(&mut self) {
        // None once it has been waited for, so that nobody else's process is meant.
        let group = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = group {
            _ = kill_process_group(group, Signal::KILL);
        }
    }
}
