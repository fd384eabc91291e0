//! Editors that show files of a session, and what they show that is not saved. The disk stays what counts: an editor
//! is asked only about files that a tool may look at, and where it does not answer, the disk does. How an editor is
//! spoken to, and who it is, is left to others.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_types::SessionId;
/// How long an editor may take for an answer.
pub(crate) const EDITOR_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a text may be that an editor shows.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Files of a session of which it is remembered what the disk held, and how many contents of each.
const MAX_REMEMBERED_CONTENTS: (usize, usize) = (2_000, 8);

/// Asks an editor for the text of a file as it shows it; none when it has no answer.
pub type ReadBuffer = Arc<dyn Fn(PathBuf) -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// Has an editor put a text into a file.
pub type WriteBuffer = Arc<dyn Fn(PathBuf, String) -> BoxFuture<'static, ()> + Send + Sync>;

/// The files that an editor shows.
#[derive(Clone)]
pub struct EditorBuffers {
    /// Reads one.
    pub read: ReadBuffer,
    /// Writes one; none where the editor does not offer it.
    pub write: Option<WriteBuffer>,
}

/// Which editors show which sessions.
#[derive(Default)]
pub struct Editors(Mutex<HashMap<SessionId, AttachedEditors>>);

/// The editors that show a session, the one that is asked last.
#[derive(Default)]
struct AttachedEditors {
    editors: Vec<(u64, EditorBuffers)>,
    /// Contents that files had on disk, by what they hash to. An editor that shows one of them has not yet
    /// noticed that the file was changed, and shows nothing unsaved.
    on_disk: HashMap<PathBuf, VecDeque<u64>>,
}

impl Editors {
    /// Has an editor asked about the files of a session from now on, in place of others that show it.
    pub fn attach(&self, session: SessionId, editor: u64, buffers: EditorBuffers) {
        let mut sessions = self.sessions();
        let showing = sessions.entry(session).or_default();
        showing.editors.retain(|(other, _)| *other != editor);
        showing.editors.push((editor, buffers));
    }

    /// The editor no longer shows the session. Without one, the disk is all there is.
    pub fn detach(&self, session: SessionId, editor: u64) {
        let mut sessions = self.sessions();
        if let Some(showing) = sessions.get_mut(&session) {
            showing.editors.retain(|(other, _)| *other != editor);
            if showing.editors.is_empty() {
                sessions.remove(&session);
            }
        }
    }

    /// What the session's editor shows of a file that is not saved; none where it shows what is on disk, or
    /// has no answer. `on_disk` is none for a file that does not exist.
    pub async fn unsaved(&self, session: SessionId, path: &Path, on_disk: Option<&str>) -> Option<String> {
        let read = self.buffers_for(session, path, on_disk)?.read;
        let shown = tokio::time::timeout(EDITOR_TIMEOUT, read(path.to_owned())).await.ok()??;
        let shown = shown.strip_prefix('\u{feff}').unwrap_or(&shown);
        if shown.len() > MAX_BYTES || shown.contains('\0') {
            return None;
        }
        let Some(on_disk) = on_disk else {
            return Some(shown.to_owned()).filter(|shown| !shown.is_empty());
        };
        let is_known = || {
            let sessions = self.sessions();
            let known = sessions.get(&session).and_then(|showing| showing.on_disk.get(path));
            known.is_some_and(|known| known.contains(&fingerprint(shown)))
        };
        if same_lines(shown, on_disk) || is_known() {
            return None;
        }
        // Many editors keep line ends apart from the text and show all of them alike.
        let long = on_disk.matches("\r\n").count();
        let is_long = 2 * long > on_disk.matches('\n').count();
        Some(if is_long && !shown.contains("\r\n") { shown.replace('\n', "\r\n") } else { shown.to_owned() })
    }

    /// The editor to ask about a file, once it is remembered what the disk holds.
    pub(crate) fn buffers_for(
        &self,
        session: SessionId,
        path: &Path,
        on_disk: Option<&str>,
    ) -> Option<EditorBuffers> {
        let mut sessions = self.sessions();
        let showing = sessions.get_mut(&session)?;
        if let Some(on_disk) = on_disk
            && (showing.on_disk.len() < MAX_REMEMBERED_CONTENTS.0 || showing.on_disk.contains_key(path))
        {
            let held = showing.on_disk.entry(path.to_owned()).or_default();
            let fingerprint = fingerprint(on_disk);
            if !held.contains(&fingerprint) {
                held.push_back(fingerprint);
            }
            if held.len() > MAX_REMEMBERED_CONTENTS.1 {
                held.pop_front();
            }
        }
        showing.editors.last().map(|(_, buffers)| buffers.clone())
    }

    /// Whether an editor shows a session.
    pub(crate) fn has_editor(&self, session: SessionId) -> bool {
        self.sessions().contains_key(&session)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, AttachedEditors>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether two texts have the same lines, however those end.
fn same_lines(one: &str, other: &str) -> bool {
    one == other || one.split('\n').map(without_return).eq(other.split('\n').map(without_return))
}

fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.split('\n').map(without_return).for_each(|line| line.hash(&mut hasher));
    hasher.finish()
}

fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use futures_util::FutureExt;
    use ostler_types::SessionId;

    use super::{EditorBuffers, Editors};

    fn session() -> SessionId {
        SessionId::new(uuid::Uuid::from_u128(7))
    }

    fn editor(text: &Arc<Mutex<Option<String>>>) -> EditorBuffers {
        let text = Arc::clone(text);
        let read = move |_| {
            let shown = text.lock().unwrap().clone();
            async move { shown }.boxed()
        };
        EditorBuffers { read: Arc::new(read), write: None }
    }

    #[tokio::test]
    async fn what_is_unsaved_is_told_from_what_is_late() {
        let (editors, file) = (Editors::default(), Path::new("/w/a"));
        let shown = Arc::new(Mutex::new(Some("one\ntwo\n".to_owned())));
        assert_eq!(editors.unsaved(session(), file, Some("one\n")).await, None, "nobody shows it");
        editors.attach(session(), 1, editor(&shown));
        let asked = async |on_disk| editors.unsaved(session(), file, on_disk).await;
        assert_eq!(asked(Some("one\n")).await.as_deref(), Some("one\ntwo\n"));
        assert_eq!(asked(Some("one\r\n")).await.as_deref(), Some("one\r\ntwo\r\n"), "it keeps its line ends");
        assert_eq!(asked(Some("one\r\ntwo\r\n")).await, None, "it is saved");
        // A command changes the file, and the editor has not noticed.
        assert_eq!(asked(Some("three\n")).await, None);
        *shown.lock().unwrap() = Some("three\nfour\n".to_owned());
        assert_eq!(asked(Some("three\n")).await.as_deref(), Some("three\nfour\n"));
        assert_eq!(asked(None).await.as_deref(), Some("three\nfour\n"), "a new file");
        *shown.lock().unwrap() = None;
        assert_eq!(asked(Some("three\n")).await, None, "it has no answer");
    }

    #[tokio::test]
    async fn the_newest_editor_counts_and_leaves_the_disk_behind() {
        let (editors, file) = (Editors::default(), Path::new("/w/a"));
        let text = |text: &str| editor(&Arc::new(Mutex::new(Some(text.to_owned()))));
        editors.attach(session(), 1, text("first"));
        editors.attach(session(), 2, text("second"));
        assert_eq!(editors.unsaved(session(), file, Some("")).await.as_deref(), Some("second"));
        editors.attach(session(), 1, text("first"));
        assert_eq!(editors.unsaved(session(), file, Some("")).await.as_deref(), Some("first"));
        editors.detach(session(), 1);
        assert_eq!(editors.unsaved(session(), file, Some("")).await.as_deref(), Some("second"));
        editors.detach(session(), 2);
        assert_eq!(editors.unsaved(session(), file, Some("")).await, None);
        assert!(editors.sessions().is_empty());
    }
}
