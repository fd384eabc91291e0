//! What `ostler run` is asked: words, what is piped in, files and images. Everything that cannot be sent is told before
//! a session is made for it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use ostler_api_types::{InputPart, SendMessage};
use ostler_client::Client;
use ostler_types::SessionId;
use ostler_workspace_fs::{is_visible_image, media_type};

use crate::args::{ApproveWhen, RunArgs};

/// Bytes in one file that goes along; the daemon takes no more.
const MAX_ATTACHMENT: u64 = 25 << 20;
/// Bytes of a text that is piped in; the daemon takes little more in a message.
const MAX_TEXT: u64 = 1 << 20;
/// How long stdin may be silent before a person is told what is waited for.
const STDIN_SILENCE_LIMIT: Duration = Duration::from_secs(2);

/// What to ask.
pub(super) struct RunPrompt {
    /// The words, in pieces.
    texts: Vec<String>,
    files: Vec<PromptFile>,
}

/// A file that goes along with the prompt.
struct PromptFile {
    path: PathBuf,
    name: String,
}

/// Why there is no prompt.
pub(super) enum NoPrompt {
    /// Nobody said anything.
    Nothing,
    /// Something cannot be read.
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for NoPrompt {
    fn from(error: anyhow::Error) -> NoPrompt {
        NoPrompt::Failed(error)
    }
}

impl RunPrompt {
    /// Gathers it from the arguments and from stdin.
    pub(super) async fn from_args(run: &RunArgs) -> Result<RunPrompt, NoPrompt> {
        let files = run.attach.iter().map(|path| file_to_attach(path));
        let files = files.chain(run.image.iter().map(|path| image_to_attach(path)));
        let files: Vec<PromptFile> = files.collect::<anyhow::Result<_>>()?;
        let words = run.prompt.as_deref().filter(|words| *words != "-");
        let piped = match words {
            None if run.prompt.is_some() || is_piped() => Some(read_stdin().await?),
            // The answers to questions come that way.
            Some(_) if is_piped() && run.approve != Some(ApproveWhen::Ask) => Some(read_stdin().await?),
            None | Some(_) => None,
        };
        let piped = piped.filter(|text| !text.trim().is_empty());
        let texts = match (words.filter(|words| !words.trim().is_empty()), piped) {
            (Some(words), Some(piped)) => {
                vec![words.to_owned(), format!("<stdin>\n{}\n</stdin>", piped.trim_end())]
            }
            (Some(words), None) => vec![words.to_owned()],
            (None, Some(piped)) => vec![piped],
            (None, None) => return Err(NoPrompt::Nothing),
        };
        Ok(RunPrompt { texts, files })
    }

    /// Adds to the words.
    pub(super) fn add(&mut self, text: String) {
        self.texts.push(text);
    }

    /// The message, once its files are with the daemon. They come before the words, which speak of them.
    pub(super) async fn message(self, client: &Client, id: SessionId) -> anyhow::Result<SendMessage> {
        let mut message = SendMessage { auto_run: Some(true), ..SendMessage::prompt("") };
        message.parts.clear();
        for PromptFile { path, name } in self.files {
            let content =
                std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            let stored = client.attach(id, &name, &content).await;
            let stored = stored.with_context(|| format!("{} cannot be attached", path.display()))?;
            message.parts.push(stored.into_part());
        }
        message.parts.extend(self.texts.into_iter().map(|text| InputPart::Text { text }));
        Ok(message)
    }
}

/// A file to send along.
fn file_to_attach(path: &Path) -> anyhow::Result<PromptFile> {
    let shown = path.display();
    let metadata = std::fs::metadata(path).with_context(|| format!("{shown} cannot be read"))?;
    anyhow::ensure!(metadata.is_file(), "{shown} is not a file; attach the files in it");
    anyhow::ensure!(
        metadata.len() <= MAX_ATTACHMENT,
        "{shown} is larger than {} MiB; put it in the workspace and name its path instead",
        MAX_ATTACHMENT >> 20
    );
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(PromptFile { path: path.to_owned(), name })
}

/// A file that must be an image.
fn image_to_attach(path: &Path) -> anyhow::Result<PromptFile> {
    let attached = file_to_attach(path)?;
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(12).read_to_end(&mut head));
    read.with_context(|| format!("{} cannot be read", path.display()))?;
    anyhow::ensure!(
        media_type(&head).is_some_and(is_visible_image),
        "{} is no PNG, JPEG, GIF or WebP; --file sends anything else",
        path.display()
    );
    Ok(attached)
}

/// Whether somebody has put a pipe or a file where a terminal would be.
fn is_piped() -> bool {
    use rustix::fs::FileType;
    let stat = rustix::fs::fstat(std::io::stdin());
    stat.is_ok_and(|stat| {
        matches!(
            FileType::from_raw_mode(stat.st_mode),
            FileType::Fifo | FileType::Socket | FileType::RegularFile
        )
    })
}

/// Reads stdin to its end. What starts us may have left a pipe open that nobody will ever write to, so a person is
/// told what is waited for.
async fn read_stdin() -> anyhow::Result<String> {
    let mut reading = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        std::io::stdin().take(MAX_TEXT + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let read = match tokio::time::timeout(STDIN_SILENCE_LIMIT, &mut reading).await {
        Ok(read) => read,
        Err(_) => {
            report!("note: reading stdin until it closes; add `< /dev/null` if there is no input");
            reading.await
        }
    };
    let bytes = read.context("stdin cannot be read")?.context("stdin cannot be read")?;
    anyhow::ensure!(
        bytes.len() as u64 <= MAX_TEXT,
        "what is piped in is larger than {} MiB; put it in a file, and send that with --file",
        MAX_TEXT >> 20
    );
    String::from_utf8(bytes)
        .ok()
        .context("what is piped in is not text; put it in a file, and send that with --file")
}

/// What was typed, or what stdin has to say.
pub(in super::super) fn typed_or_stdin(given: &str) -> anyhow::Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("the text cannot be read from stdin")?;
    Ok(text)
}

/// A directory as it really is.
pub(super) fn real_directory(path: &Path) -> anyhow::Result<String> {
    let path = path.canonicalize().with_context(|| format!("{} cannot be used", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}
