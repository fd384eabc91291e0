//! Doing what is to be done: each effect by the terminal, by a request, or by a program of the person's own.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use ostler_client::{ClientError, SessionFilter};
use ostler_process::{Invocation, Program, ProgramFinder};
use ostler_types::SessionId;
use tokio::io::AsyncReadExt;

use super::requests::MessageToSend;
use super::{TuiShell, files, history};
use crate::input::{DaemonNews, TuiEffect, TuiInput};

/// How long a command of the person's own may take, and how much of what it prints is told.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);
const COMMAND_BYTES: u64 = 64 << 10;
/// How many files are offered for a word.
const MAX_COMPLETED_FILES: u32 = 8;
/// The largest picture that is shown.
const MAX_PICTURE: usize = 4 << 20;
/// The largest file that can be attached.
const MAX_FILE: u64 = 25 << 20;

impl TuiShell {
    #[expect(clippy::wildcard_enum_match_arm, reason = "`look` lists the effects that are left")]
    pub(super) async fn perform(&mut self, effect: TuiEffect) -> io::Result<()> {
        match effect {
            TuiEffect::Quit => {}
            TuiEffect::Suspend => self.suspend()?,
            TuiEffect::Redraw => {
                self.screen.redraw()?;
                self.pictures.note_screen_cleared();
            }
            TuiEffect::Copy(text) => self.screen.copy(&text)?,
            TuiEffect::Bell => self.screen.bell()?,
            TuiEffect::Mouse(mouse) => self.screen.listen_to_mouse(mouse)?,
            TuiEffect::Edit(text) => Box::pin(self.edit(text)).await?,
            TuiEffect::Remember(text) => {
                if let Some(path) = &self.history {
                    history::append(path, &text);
                }
            }
            TuiEffect::Connect { start } => self.network.connect(start),
            TuiEffect::Send { id, message, key } => {
                self.network.send(MessageToSend { id, message, key }).await
            }
            TuiEffect::Follow { id, after } => self.network.follow(id, after),
            TuiEffect::Unfollow(id) => self.network.unfollow(id),
            TuiEffect::Older { id, first, before } => self.network.older(id, first, before),
            TuiEffect::List => self.network.list(),
            TuiEffect::Files { id, query } => self.files(id, query),
            TuiEffect::Shell { id, workspace, command } => {
                self.network.spawn(async move {
                    let output = shell(&workspace, &command).await;
                    TuiInput::CommandEnded { id, command, output }
                });
            }
            TuiEffect::Attach { id, path } => self.attach(id, path),
            TuiEffect::Picture { id, reference, number } => self.picture(id, &reference, number),
            TuiEffect::Show { shown, bytes } => self.pictures.take_in(&mut self.screen, shown, &bytes)?,
            effect => self.request(effect),
        }
        Ok(())
    }

    /// Effects that are one request each.
    #[expect(clippy::wildcard_enum_match_arm, reason = "`look` lists the effects that are left")]
    fn request(&mut self, effect: TuiEffect) {
        let network = &mut self.network;
        match effect {
            TuiEffect::Load(id) => network.spawn_request(move |client| async move {
                Ok(Some(DaemonNews::Loaded(Box::new(client.session_with_context(id).await?))))
            }),
            TuiEffect::Create { session, key } => network.spawn_request(move |client| async move {
                Ok(Some(match client.create_session(&session).await {
                    Ok(id) => DaemonNews::Created { key, id },
                    Err(error) => {
                        let later = matches!(error, ClientError::Unreachable { .. });
                        DaemonNews::NotSent { id: None, key, why: error.to_string(), later }
                    }
                }))
            }),
            TuiEffect::Answer { id, answer } => network.spawn_request(move |client| async move {
                let given = client.approve(id, &answer).await;
                let call = answer.tool_call_id.0.clone();
                Ok(given.err().map(|error| {
                    let over = matches!(error, ClientError::Refused { status: 404 | 409, .. });
                    DaemonNews::NotAnswered { id, call, why: error.to_string(), over }
                }))
            }),
            TuiEffect::Cancel(id) => {
                network.spawn_request(move |client| async move { client.cancel(id).await.map(|_| None) })
            }
            TuiEffect::Withdraw(id, message) => {
                network.spawn_request(move |client| async move {
                    client.withdraw(id, message).await.map(|()| None)
                });
            }
            TuiEffect::Requeue { id, message, change, text } => {
                network.spawn_request(move |client| async move {
                    let changed = client.requeue(id, message, &change).await;
                    Ok(changed.err().map(|error| DaemonNews::NotRequeued {
                        id,
                        text,
                        why: error.to_string(),
                    }))
                })
            }
            TuiEffect::Retry(id, turn) => {
                network
                    .spawn_request(move |client| async move { client.retry(id, turn).await.map(|_| None) });
            }
            TuiEffect::Compact(id) => network.spawn_request(move |client| async move {
                client.compact(id).await?;
                Ok(Some(DaemonNews::Notice("compacting the conversation".to_owned())))
            }),
            TuiEffect::Fork(id) => network.spawn_request(move |client| async move {
                let fork = client.fork(id, None).await?;
                Ok(Some(DaemonNews::Notice(format!("forked as {fork}; ctrl+o opens it"))))
            }),
            TuiEffect::Close(id) => network.spawn_request(move |client| async move {
                client.delete(id, false).await?;
                Ok(Some(DaemonNews::Notice("closed".to_owned())))
            }),
            TuiEffect::Undo { id, undo } => network.spawn_request(move |client| async move {
                let undone = client.undo(id, &undo).await?;
                Ok(Some(DaemonNews::Undone { id, turn: undo.turn_id, preview: undone.preview, undone }))
            }),
            TuiEffect::Update(id, change) => network
                .spawn_request(move |client| async move { client.update(id, &change).await.map(|_| None) }),
            TuiEffect::Choose { id, setting, choice } => network.spawn_request(move |client| async move {
                let settings = BTreeMap::from([(setting, choice.clone())]);
                client.set_agent_setting(id, &settings).await?;
                Ok(Some(DaemonNews::Notice(format!("now: {choice}"))))
            }),
            effect => self.request_state(effect),
        }
    }

    /// Effects that only ask how something stands, and the one that says whom to trust.
    fn request_state(&mut self, effect: TuiEffect) {
        let network = &mut self.network;
        match effect {
            TuiEffect::Models => {
                network.spawn_request(|client| async move {
                    Ok(Some(DaemonNews::Models(client.models(false).await?)))
                });
            }
            TuiEffect::Agents => network.spawn_request(|client| async move {
                let names = client.agent_infos().await?.into_iter().map(|agent| agent.name).collect();
                Ok(Some(DaemonNews::Agents(names)))
            }),
            TuiEffect::Compare { id, of, call } => network.spawn_request(move |client| async move {
                // Without an answer the call's own words are shown.
                let files = client.approval_diff(of, &call).await.ok().flatten();
                Ok(Some(DaemonNews::Compared { id, call, files }))
            }),
            TuiEffect::Search(query) => network.spawn_request(move |client| async move {
                let filter =
                    SessionFilter { q: Some(query.clone()), limit: Some(50), ..SessionFilter::default() };
                let sessions = client.list_sessions(&filter).await?.sessions;
                Ok(Some(DaemonNews::Found { query, sessions }))
            }),
            TuiEffect::Context(id) => {
                network.spawn_request(move |client| async move {
                    Ok(Some(DaemonNews::Context(client.context(id).await?)))
                });
            }
            TuiEffect::Trust(workspace) => network.spawn_request(move |client| async move {
                client.trust(&workspace, true).await?;
                Ok(Some(DaemonNews::Notice(format!("{workspace} is now trusted"))))
            }),
            // The rest has been seen to by the callers.
            TuiEffect::Quit
            | TuiEffect::Suspend
            | TuiEffect::Redraw
            | TuiEffect::Copy(_)
            | TuiEffect::Bell
            | TuiEffect::Mouse(_)
            | TuiEffect::Edit(_)
            | TuiEffect::Remember(_)
            | TuiEffect::Connect { .. }
            | TuiEffect::Send { .. }
            | TuiEffect::Follow { .. }
            | TuiEffect::Unfollow(_)
            | TuiEffect::Older { .. }
            | TuiEffect::List
            | TuiEffect::Files { .. }
            | TuiEffect::Shell { .. }
            | TuiEffect::Attach { .. }
            | TuiEffect::Picture { .. }
            | TuiEffect::Show { .. }
            | TuiEffect::Load(_)
            | TuiEffect::Create { .. }
            | TuiEffect::Answer { .. }
            | TuiEffect::Cancel(_)
            | TuiEffect::Withdraw(..)
            | TuiEffect::Requeue { .. }
            | TuiEffect::Retry(..)
            | TuiEffect::Compact(_)
            | TuiEffect::Fork(_)
            | TuiEffect::Close(_)
            | TuiEffect::Undo { .. }
            | TuiEffect::Update(..)
            | TuiEffect::Choose { .. } => {}
        }
    }

    fn files(&mut self, id: Option<SessionId>, query: String) {
        let workspace = self.model.current_workspace();
        let client = self.network.client.get();
        self.network.spawn(async move {
            let asked = match (client, id) {
                (Some(client), Some(id)) => client.find_files(id, &query, MAX_COMPLETED_FILES).await.ok(),
                _ => None,
            };
            let paths = match asked {
                Some(found) => found.files.into_iter().map(|file| file.path).collect(),
                None => {
                    let looked_for = query.clone();
                    let walk =
                        move || files::find_files(&workspace, &looked_for, MAX_COMPLETED_FILES as usize);
                    tokio::task::spawn_blocking(walk).await.unwrap_or_default()
                }
            };
            TuiInput::News(DaemonNews::Files { query, paths })
        });
    }

    /// Asks for a picture. One that is not to be had stays a link.
    fn picture(&mut self, id: SessionId, reference: &str, number: u32) {
        let parts: Vec<String> = reference.split('/').map(str::to_owned).collect();
        self.network.spawn_request(move |client| async move {
            let bytes = match parts.as_slice() {
                [folder, name] if folder == "attachments" => client.attachment(id, name).await.ok(),
                [folder, turn, name] if folder == "artifacts" => match turn.parse() {
                    Ok(turn) => client.artifact(id, turn, name).await.ok(),
                    Err(_) => None,
                },
                _ => None,
            };
            let bytes = bytes.filter(|bytes| bytes.len() <= MAX_PICTURE).map(|bytes| bytes.to_vec());
            Ok(Some(DaemonNews::Picture { number, bytes: bytes.unwrap_or_default() }))
        });
    }

    fn attach(&mut self, id: SessionId, path: String) {
        let path = std::path::Path::new(&self.model.current_workspace()).join(path);
        self.network.spawn_request(move |client| async move {
            let told = |why: String| Ok(Some(DaemonNews::Failed(why)));
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
            Ok(Some(DaemonNews::Attached { id, file }))
        });
    }

    /// Lets the person write in an editor, which has the terminal meanwhile.
    async fn edit(&mut self, text: String) -> io::Result<()> {
        self.keys = None;
        self.screen.leave();
        let edited = edit_in_editor(&self.editor, &self.programs, &text).await;
        self.resume()?;
        let news = match edited {
            Ok(text) => TuiInput::EditorClosed(Some(text)),
            Err(error) => {
                let why = format!("`{}` could not be used: {error}; set EDITOR", self.editor);
                TuiInput::News(DaemonNews::Failed(why))
            }
        };
        self.take_in(news).await.map(drop)
    }
}

/// The text as it is after an editor was closed.
async fn edit_in_editor(editor: &str, programs: &ProgramFinder, text: &str) -> io::Result<String> {
    let name = format!("ostler-{}-{}.md", std::process::id(), super::random_seed());
    let path = std::env::temp_dir().join(name);
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    let read = match written {
        Ok(()) => {
            // What is set as editor may have arguments.
            let line = format!("{editor} \"$1\"");
            let shell = Invocation::new(shell_program()).args(["-c", &line, "sh"]).args([&path]);
            // The person's own variables, but none that a sandboxed command has a say in.
            let shell = shell.envs(programs.environment(std::env::vars_os())).inherit_directory();
            let mut command = shell.prepare();
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

fn shell_program() -> Program {
    Program::from_system("sh").unwrap_or_else(|| Program::at(PathBuf::from("/bin/sh")))
}

/// Runs a command as the person would, and says what it printed and how it ended.
async fn shell(workspace: &str, command: &str) -> String {
    let line = format!("exec 2>&1\n{command}");
    let child = Invocation::new(shell_program())
        .args(["-c", &line])
        .inherit_environment()
        .current_dir(workspace)
        .prepare()
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .own_group()
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return format!("could not start: {error}"),
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
