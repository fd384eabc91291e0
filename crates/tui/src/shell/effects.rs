//! Doing what is to be done: each effect by the terminal, by a request, or by a program of the person's own.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ostler_client::{ClientError, SessionFilter};
use ostler_process::{Invocation, PreparedCommand, Program};
use ostler_types::SessionId;
use tokio::io::AsyncReadExt;

use super::network::Outgoing;
use super::{Shell, files, history};
use crate::input::{Effect, Input, News};

/// How long a command of the person's own may take, and how much of what it prints is told.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);
const COMMAND_BYTES: u64 = 64 << 10;
/// How many files are offered for a word.
const FILES: u32 = 8;
/// The largest picture that is shown.
const MAX_PICTURE: usize = 4 << 20;
/// The largest file that can be attached.
const MAX_FILE: u64 = 25 << 20;

impl Shell {
    #[expect(clippy::wildcard_enum_match_arm, reason = "`look` lists the effects that are left")]
    pub(super) async fn perform(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Quit => {}
            Effect::Suspend => self.suspend()?,
            Effect::Redraw => {
                self.screen.redraw()?;
                self.gallery.cleared();
            }
            Effect::Copy(text) => self.screen.copy(&text)?,
            Effect::Bell => self.screen.bell()?,
            Effect::Mouse(mouse) => self.screen.listen_to_mouse(mouse)?,
            Effect::Edit(text) => Box::pin(self.edit(text)).await?,
            Effect::Remember(text) => {
                if let Some(path) = &self.history {
                    history::append(path, &text);
                }
            }
            Effect::Connect { start } => self.network.connect(start),
            Effect::Send { id, message, key } => self.network.send(Outgoing { id, message, key }).await,
            Effect::Follow { id, after } => self.network.follow(id, after),
            Effect::Unfollow(id) => self.network.unfollow(id),
            Effect::Older { id, first, before } => self.network.older(id, first, before),
            Effect::List => self.network.list(),
            Effect::Files { id, query } => self.files(id, query),
            Effect::Shell { id, workspace, command } => {
                self.network.spawn(async move {
                    let output = shell(&workspace, &command).await;
                    Input::Shelled { id, command, output }
                });
            }
            Effect::Attach { id, path } => self.attach(id, path),
            Effect::Picture { id, reference, number } => self.picture(id, &reference, number),
            Effect::Show { shown, bytes } => self.gallery.show(&mut self.screen, shown, &bytes)?,
            effect => self.request(effect),
        }
        Ok(())
    }

    /// Effects that are one request each.
    #[expect(clippy::wildcard_enum_match_arm, reason = "`look` lists the effects that are left")]
    fn request(&mut self, effect: Effect) {
        let network = &mut self.network;
        match effect {
            Effect::Load(id) => network
                .ask(move |client| async move { Ok(Some(News::Loaded(Box::new(client.shown(id).await?)))) }),
            Effect::Create { session, key } => network.ask(move |client| async move {
                Ok(Some(match client.create_session(&session).await {
                    Ok(id) => News::Created { key, id },
                    Err(error) => {
                        let later = matches!(error, ClientError::Unreachable { .. });
                        News::NotSent { id: None, key, why: error.to_string(), later }
                    }
                }))
            }),
            Effect::Answer { id, answer } => network.ask(move |client| async move {
                let given = client.approve(id, &answer).await;
                let call = answer.tool_call_id.0.clone();
                Ok(given.err().map(|error| {
                    let over = matches!(error, ClientError::Refused { status: 404 | 409, .. });
                    News::NotAnswered { id, call, why: error.to_string(), over }
                }))
            }),
            Effect::Cancel(id) => {
                network.ask(move |client| async move { client.cancel(id).await.map(|_| None) })
            }
            Effect::Withdraw(id, message) => {
                network.ask(move |client| async move { client.withdraw(id, message).await.map(|()| None) });
            }
            Effect::Requeue { id, message, change, text } => network.ask(move |client| async move {
                let changed = client.requeue(id, message, &change).await;
                Ok(changed.err().map(|error| News::NotRequeued { id, text, why: error.to_string() }))
            }),
            Effect::Retry(id, turn) => {
                network.ask(move |client| async move { client.retry(id, turn).await.map(|_| None) });
            }
            Effect::Compact(id) => network.ask(move |client| async move {
                client.compact(id).await?;
                Ok(Some(News::Told("making the conversation shorter".to_owned())))
            }),
            Effect::Fork(id) => network.ask(move |client| async move {
                let fork = client.fork(id, None).await?;
                Ok(Some(News::Told(format!("forked as {fork}; ctrl+o goes there"))))
            }),
            Effect::Close(id) => network.ask(move |client| async move {
                client.delete(id, false).await?;
                Ok(Some(News::Told("closed".to_owned())))
            }),
            Effect::Undo { id, undo } => network.ask(move |client| async move {
                let undone = client.undo(id, &undo).await?;
                Ok(Some(News::Undone { id, turn: undo.turn_id, preview: undone.preview, undone }))
            }),
            Effect::Update(id, change) => {
                network.ask(move |client| async move { client.update(id, &change).await.map(|_| None) })
            }
            Effect::Choose { id, setting, choice } => network.ask(move |client| async move {
                let settings = BTreeMap::from([(setting, choice.clone())]);
                client.choose(id, &settings).await?;
                Ok(Some(News::Told(format!("{choice} from now on"))))
            }),
            effect => self.look(effect),
        }
    }

    /// Effects that only ask how something stands, and the one that says whom to trust.
    fn look(&mut self, effect: Effect) {
        let network = &mut self.network;
        match effect {
            Effect::Models => {
                network.ask(|client| async move { Ok(Some(News::Models(client.models(false).await?))) });
            }
            Effect::Agents => network.ask(|client| async move {
                let names = client.agent_infos().await?.into_iter().map(|agent| agent.name).collect();
                Ok(Some(News::Agents(names)))
            }),
            Effect::Compare { id, of, call } => network.ask(move |client| async move {
                // Without an answer the call's own words are shown.
                let files = client.approval_diff(of, &call).await.ok().flatten();
                Ok(Some(News::Compared { id, call, files }))
            }),
            Effect::Search(query) => network.ask(move |client| async move {
                let filter =
                    SessionFilter { q: Some(query.clone()), limit: Some(50), ..SessionFilter::default() };
                let sessions = client.list_sessions(&filter).await?.sessions;
                Ok(Some(News::Found { query, sessions }))
            }),
            Effect::Context(id) => {
                network.ask(move |client| async move { Ok(Some(News::Context(client.context(id).await?))) });
            }
            Effect::Trust(workspace) => network.ask(move |client| async move {
                client.trust(&workspace, true).await?;
                Ok(Some(News::Told(format!("{workspace} is trusted"))))
            }),
            // The rest has been seen to by the callers.
            Effect::Quit
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Copy(_)
            | Effect::Bell
            | Effect::Mouse(_)
            | Effect::Edit(_)
            | Effect::Remember(_)
            | Effect::Connect { .. }
            | Effect::Send { .. }
            | Effect::Follow { .. }
            | Effect::Unfollow(_)
            | Effect::Older { .. }
            | Effect::List
            | Effect::Files { .. }
            | Effect::Shell { .. }
            | Effect::Attach { .. }
            | Effect::Picture { .. }
            | Effect::Show { .. }
            | Effect::Load(_)
            | Effect::Create { .. }
            | Effect::Answer { .. }
            | Effect::Cancel(_)
            | Effect::Withdraw(..)
            | Effect::Requeue { .. }
            | Effect::Retry(..)
            | Effect::Compact(_)
            | Effect::Fork(_)
            | Effect::Close(_)
            | Effect::Undo { .. }
            | Effect::Update(..)
            | Effect::Choose { .. } => {}
        }
    }

    fn files(&mut self, id: Option<SessionId>, query: String) {
        let workspace = self.model.workspace_here();
        let client = self.network.held.get();
        self.network.spawn(async move {
            let asked = match (client, id) {
                (Some(client), Some(id)) => client.find_files(id, &query, FILES).await.ok(),
                _ => None,
            };
            let paths = match asked {
                Some(found) => found.files.into_iter().map(|file| file.path).collect(),
                None => {
                    let looked_for = query.clone();
                    let walk = move || files::find(&workspace, &looked_for, FILES as usize);
                    tokio::task::spawn_blocking(walk).await.unwrap_or_default()
                }
            };
            Input::News(News::Files { query, paths })
        });
    }

    /// Asks for a picture. One that is not to be had stays a link.
    fn picture(&mut self, id: SessionId, reference: &str, number: u32) {
        let parts: Vec<String> = reference.split('/').map(str::to_owned).collect();
        self.network.ask(move |client| async move {
            let bytes = match parts.as_slice() {
                [folder, name] if folder == "attachments" => client.attachment(id, name).await.ok(),
                [folder, turn, name] if folder == "artifacts" => match turn.parse() {
                    Ok(turn) => client.artifact(id, turn, name).await.ok(),
                    Err(_) => None,
                },
                _ => None,
            };
            let bytes = bytes.filter(|bytes| bytes.len() <= MAX_PICTURE).map(|bytes| bytes.to_vec());
            Ok(Some(News::Picture { number, bytes: bytes.unwrap_or_default() }))
        });
    }

    fn attach(&mut self, id: SessionId, path: String) {
        let path = std::path::Path::new(&self.model.workspace_here()).join(path);
        self.network.ask(move |client| async move {
            let told = |why: String| Ok(Some(News::Failed(why)));
            match tokio::fs::metadata(&path).await {
                Ok(found) if found.len() > MAX_FILE => {
                    return told(format!("{} is too large", path.display()));
                }
                Ok(_) => {}
                Err(error) => return told(format!("{}: {error}", path.display())),
            }
            let content = match tokio::fs::read(&path).await {
                Ok(content) => content,
                Err(error) => return told(format!("{}: {error}", path.display())),
            };
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let file = client.attach(id, &name, &content).await?;
            Ok(Some(News::Attached { id, file }))
        });
    }

    /// Lets the person write in an editor, which has the terminal meanwhile.
    async fn edit(&mut self, text: String) -> io::Result<()> {
        self.keys = None;
        self.screen.leave();
        let edited = edited(&self.editor, &text).await;
        self.again()?;
        let news = match edited {
            Ok(text) => Input::Edited(Some(text)),
            Err(error) => {
                let why = format!("`{}` could not be used: {error}; set EDITOR", self.editor);
                Input::News(News::Failed(why))
            }
        };
        self.take_in(news).await.map(drop)
    }
}

/// The text as it is after an editor was closed.
async fn edited(editor: &str, text: &str) -> io::Result<String> {
    let name = format!("ostler-{}-{}.md", std::process::id(), super::seed());
    let path = std::env::temp_dir().join(name);
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    let read = match written {
        Ok(()) => {
            // What is set as editor may have arguments.
            let line = format!("{editor} \"$1\"");
            let mut command = own_shell(&["-c", &line, "sh"], Some(&path));
            let status = async { command.stdin(Stdio::inherit()).spawn()?.wait().await };
            match status.await {
                Ok(status) if status.success() => std::fs::read_to_string(&path),
                Ok(status) => Err(io::Error::other(status.to_string())),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    _ = std::fs::remove_file(&path);
    read
}

/// A shell of the person's own, at this terminal.
fn own_shell(arguments: &[&str], file: Option<&Path>) -> PreparedCommand {
    let shell = Invocation::new(shell_program()).args(arguments).args(file);
    shell.with_own_environment().in_own_directory().prepare()
}

fn shell_program() -> Program {
    Program::of_system("sh").unwrap_or_else(|| Program::at(PathBuf::from("/bin/sh")))
}

/// Runs a command as the person would, and says what it printed and how it ended.
async fn shell(workspace: &str, command: &str) -> String {
    let line = format!("exec 2>&1\n{command}");
    let child = Invocation::new(shell_program())
        .args(["-c", &line])
        .with_own_environment()
        .current_dir(workspace)
        .prepare()
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .own_group()
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return format!("it could not be started: {error}"),
    };
    let mut printed = Vec::new();
    let ended = tokio::time::timeout(COMMAND_LIMIT, async {
        if let Some(out) = child.stdout.take() {
            _ = out.take(COMMAND_BYTES).read_to_end(&mut printed).await;
        }
        child.wait().await
    })
    .await;
    let mut text = String::from_utf8_lossy(&printed).into_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match ended {
        Ok(Ok(status)) if status.success() => {}
        Ok(Ok(status)) => text.push_str(&format!("({status})")),
        Ok(Err(error)) => text.push_str(&format!("({error})")),
        Err(_) => text.push_str(&format!("(stopped after {} s)", COMMAND_LIMIT.as_secs())),
    }
    text
}
