//! What a restore has begun, in a file that is there only while it runs. After a crash it tells
//! states that the run itself left, such as a file that is gone and not yet made again, from what
//! somebody else did.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::codec::{FieldReader, FieldWriter, fnv1a_checksum};
use crate::digest::CheckpointDigest;
use crate::error::Error;
use crate::manifest::ManifestNode;
use crate::store_files::{StoreFiles, read_if_there, remove_if_there, sync_directory_of};

use super::{RestoreOrder, RestoreStep, RestoreTransition, StateAfterTurn};

const HEADER: &[u8] = b"ostler restore 2\n";
const NAME: &str = "restore";

/// What a run is to do.
#[derive(Debug, Clone)]
pub(crate) struct RestoreJournal {
    pub(crate) order: RestoreOrder,
    /// Sorted by the bytes of their paths.
    pub(crate) steps: Vec<RestoreStep>,
    /// Directories that cannot be written to as they are, and the mode that they have.
    pub(crate) opened: Vec<(PathBuf, u32)>,
}

impl RestoreJournal {
    /// The journal of a workspace. One that is torn was never acted on: it is durable before anything
    /// is changed.
    pub(crate) fn read(files: &StoreFiles, workspace: &Path) -> Result<Option<RestoreJournal>, Error> {
        let path = files.workspace(workspace).join(NAME);
        let bytes = read_if_there(&path).map_err(|error| Error::io("Cannot read", &path, error))?;
        Ok(bytes.and_then(|bytes| decode(&bytes)))
    }

    /// Writes it down durably.
    pub(crate) fn write(&self, files: &StoreFiles, workspace: &Path) -> Result<(), Error> {
        let path = files.workspace(workspace).join(NAME);
        files
            .replace(&path, &self.encode(), true)
            .map_err(|error| Error::io("Nothing was restored: cannot write", &path, error))
    }

    /// Forgets it: the run is complete.
    pub(crate) fn remove(files: &StoreFiles, workspace: &Path) -> Result<(), Error> {
        let path = files.workspace(workspace).join(NAME);
        let removed = remove_if_there(&path)
            .and_then(|was_there| if was_there { sync_directory_of(&path) } else { Ok(()) });
        removed.map_err(|error| Error::io("All was restored, but cannot remove", &path, error))
    }

    /// All journals of a store.
    pub(crate) fn all(files: &StoreFiles) -> std::io::Result<Vec<RestoreJournal>> {
        let mut all = Vec::new();
        for directory in std::fs::read_dir(files.workspaces())? {
            let bytes = read_if_there(&directory?.path().join(NAME))?;
            all.extend(bytes.and_then(|bytes| decode(&bytes)));
        }
        Ok(all)
    }

    /// The checkpoints that journals of a store still need.
    pub(crate) fn needed_checkpoints(files: &StoreFiles) -> std::io::Result<Vec<CheckpointDigest>> {
        let passages = RestoreJournal::all(files)?.into_iter().flat_map(|journal| journal.order.transitions);
        Ok(passages.flat_map(|passage| [Some(passage.to), passage.since.checkpoint()]).flatten().collect())
    }

    /// What the run was to do at a path.
    pub(crate) fn step(&self, path: &Path) -> Option<&RestoreStep> {
        let wanted = path.as_os_str().as_bytes();
        let found = self.steps.binary_search_by(|step| step.path.as_os_str().as_bytes().cmp(wanted));
        found.ok().map(|place| &self.steps[place])
    }

    /// Whether a path may be found in this state because the run was cut short.
    pub(crate) fn may_have_left(&self, path: &Path, now: Option<&ManifestNode>) -> bool {
        let Some(step) = self.step(path) else { return false };
        let before = step.before.as_ref().map(|(node, _)| node);
        let was_directory = before.is_some_and(ManifestNode::is_directory)
            || step.target.as_ref().is_some_and(ManifestNode::is_directory);
        match now {
            None => true,
            Some(now) => Some(now) == before || (now.is_directory() && was_directory),
        }
    }

    /// Under which name a step writes what then gets the name of its path.
    pub(crate) fn temporary_name(&self, step: usize) -> String {
        format!("{}{step}", self.temporary_prefix())
    }

    /// How all these names begin.
    pub(crate) fn temporary_prefix(&self) -> String {
        format!(".ostler-restore-{}-", &self.order.first().to_string()[..16])
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = FieldWriter::default();
        body.count(self.order.transitions.len());
        for RestoreTransition { to, since } in &self.order.transitions {
            body.digest(&to.0);
            match since {
                StateAfterTurn::Now => body.byte(0),
                StateAfterTurn::Checkpoint(id) => {
                    body.byte(1);
                    body.digest(&id.0);
                }
                StateAfterTurn::Unknown => body.byte(2),
            }
        }
        body.byte(u8::from(self.order.only.is_some()));
        let only = self.order.only.as_deref().unwrap_or_default();
        body.count(only.len());
        only.iter().for_each(|path| body.path(path));
        body.byte(u8::from(self.order.force));
        body.count(self.steps.len());
        for step in &self.steps {
            body.path(&step.path);
            for node in [step.before.as_ref().map(|(node, _)| node), step.target.as_ref()] {
                body.byte(u8::from(node.is_some()));
                node.iter().for_each(|node| node.write(&mut body));
            }
        }
        body.count(self.opened.len());
        for (path, mode) in &self.opened {
            body.path(path);
            body.u32(*mode);
        }
        let mut whole = FieldWriter(HEADER.to_vec());
        whole.u64(fnv1a_checksum(&body.0));
        whole.0.extend_from_slice(&body.0);
        whole.0
    }
}

fn decode(bytes: &[u8]) -> Option<RestoreJournal> {
    let mut reader = FieldReader(bytes.strip_prefix(HEADER)?);
    if reader.u64()? != fnv1a_checksum(reader.0) {
        return None;
    }
    let mut passages = Vec::new();
    for _ in 0..reader.u32()? {
        let to = CheckpointDigest(reader.digest()?);
        let since = match reader.byte()? {
            0 => StateAfterTurn::Now,
            1 => StateAfterTurn::Checkpoint(CheckpointDigest(reader.digest()?)),
            2 => StateAfterTurn::Unknown,
            _ => return None,
        };
        passages.push(RestoreTransition { to, since });
    }
    if passages.is_empty() {
        return None;
    }
    let has_only = reader.byte()? == 1;
    let only = (0..reader.u32()?).map(|_| reader.path().map(Path::to_owned)).collect::<Option<Vec<_>>>()?;
    let force = reader.byte()? == 1;
    let mut steps = Vec::new();
    for _ in 0..reader.u32()? {
        let path = reader.path()?.to_owned();
        let mut node = || -> Option<Option<ManifestNode>> {
            Some(if reader.byte()? == 1 { Some(ManifestNode::read(&mut reader)?) } else { None })
        };
        let (before, target) = (node()?, node()?);
        // The stamp is of the run that was cut short; the next one looks again.
        let before = before.map(|node| (node, crate::workspace_tree::FileStamp::default()));
        steps.push(RestoreStep { path, before, target });
    }
    let opened = (0..reader.u32()?)
        .map(|_| Some((reader.path()?.to_owned(), reader.u32()?)))
        .collect::<Option<Vec<_>>>()?;
    Some(RestoreJournal {
        order: RestoreOrder { transitions: passages, only: has_only.then_some(only), force },
        steps,
        opened,
    })
}
