//! Directories of this machine, and the files by which a workspace speaks for itself.

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{
    Directory, DocumentedChecks, FileSums, FindCheckFiles, FindFiles, LinkTarget, ResolvedDirectory,
    SubdirectoryList, WorkspaceFileList, WorkspacePathError, WorkspaceSettings, Workspaces,
};

use crate::check_files::check_files;
use crate::documented_checks::documented_checks;
use crate::file_list_cache::FileListCache;
use crate::workspace_settings::WorkspaceSettingsReader;

/// How many directories are listed.
const MAX_DIRECTORIES: usize = 1000;
/// How many names are looked at for that.
const MAX_NAMES: usize = 50_000;
/// How much of a workspace's instructions is read.
const MAX_INSTRUCTIONS: u64 = 256 * 1024;

/// The directories of this machine.
#[derive(Clone)]
pub(crate) struct LocalWorkspaces {
    data_dir: PathBuf,
    home: Option<PathBuf>,
    settings_reader: WorkspaceSettingsReader,
    file_lists: Arc<FileListCache>,
}

impl LocalWorkspaces {
    pub(crate) fn new(data_dir: PathBuf) -> LocalWorkspaces {
        let (projects, file_lists) = (WorkspaceSettingsReader::default(), Arc::new(FileListCache::new()));
        LocalWorkspaces { data_dir, home: None, settings_reader: projects, file_lists }
    }

    pub(crate) fn with_home(self, home: PathBuf) -> LocalWorkspaces {
        LocalWorkspaces { home: Some(home), ..self }
    }
}

impl Workspaces for LocalWorkspaces {
    fn resolve_directory(
        &self,
        path: String,
    ) -> BoxFuture<'_, Result<ResolvedDirectory, WorkspacePathError>> {
        async move {
            let real = tokio::fs::canonicalize(&path).await;
            let real = real.map_err(|error| WorkspacePathError::Missing(error.to_string()))?;
            match tokio::fs::metadata(&real).await {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return Err(WorkspacePathError::NotADirectory),
                Err(error) => return Err(WorkspacePathError::Unreadable(error.to_string())),
            }
            let data = tokio::fs::canonicalize(&self.data_dir).await;
            let is_own_data = real.starts_with(data.as_ref().unwrap_or(&self.data_dir));
            let path = real.into_os_string().into_string().map_err(|_| WorkspacePathError::NotUtf8)?;
            Ok(ResolvedDirectory { path, is_own_data })
        }
        .boxed()
    }

    fn unsuitable_reason(&self, workspace: String) -> BoxFuture<'_, Option<String>> {
        async move {
            let (home, data_dir) = (self.home.clone()?, self.data_dir.clone());
            let judged = tokio::task::spawn_blocking(move || {
                let workspace = Path::new(&workspace);
                // A directory that is gone breaks no rule; whoever needs it says so.
                workspace
                    .exists()
                    .then(|| ostler_sandbox::unfit_workspace_reason(workspace, &data_dir, &home))
                    .flatten()
            });
            judged.await.ok().flatten()
        }
        .boxed()
    }

    fn list_directories(&self, path: String) -> BoxFuture<'_, Result<SubdirectoryList, WorkspacePathError>> {
        async move {
            let listed = tokio::task::spawn_blocking(move || directories(Path::new(&path))).await;
            let listed = listed.map_err(std::io::Error::other).flatten();
            listed.map_err(|error| WorkspacePathError::Unreadable(error.to_string()))
        }
        .boxed()
    }

    fn find_files(&self, find: FindFiles) -> BoxFuture<'_, Result<WorkspaceFileList, WorkspacePathError>> {
        self.file_lists.find(find).boxed()
    }

    fn instructions(&self, workspace: String) -> BoxFuture<'_, Option<String>> {
        let read = tokio::task::spawn_blocking(move || instructions(Path::new(&workspace)));
        async move { read.await.ok().flatten() }.boxed()
    }

    fn link_targets(&self, workspace: String, paths: Vec<String>) -> BoxFuture<'_, Vec<LinkTarget>> {
        if paths.is_empty() {
            return std::future::ready(Vec::new()).boxed();
        }
        let look = move || paths.iter().filter_map(|path| link_target(Path::new(&workspace), path)).collect();
        let looked = tokio::task::spawn_blocking(look);
        async move { looked.await.unwrap_or_default() }.boxed()
    }

    fn settings(&self, workspace: String) -> BoxFuture<'_, WorkspaceSettings> {
        async move { self.settings_reader.settings(Path::new(&workspace)).await }.boxed()
    }

    fn documented_checks(&self, workspace: String) -> BoxFuture<'_, Option<DocumentedChecks>> {
        let read = tokio::task::spawn_blocking(move || documented_checks(Path::new(&workspace)));
        async move { read.await.ok().flatten() }.boxed()
    }

    fn check_files(&self, request: FindCheckFiles) -> BoxFuture<'_, Result<FileSums, String>> {
        let read = tokio::task::spawn_blocking(move || check_files(&request));
        async move { read.await.map_err(|error| error.to_string()) }.boxed()
    }
}

/// The target of a path that goes through a symbolic link; none where the path is its own target.
fn link_target(workspace: &Path, path: &str) -> Option<LinkTarget> {
    let (root, given) = (workspace.canonicalize().ok()?, Path::new(path));
    let given = given.strip_prefix(workspace).unwrap_or(given);
    // A file that does not exist yet has a directory that may be a link.
    let (existing, rest) = match workspace.join(given).canonicalize() {
        Ok(real) => (real, None),
        Err(_) => (workspace.join(given).parent()?.canonicalize().ok()?, given.file_name()),
    };
    let real = rest.map_or(existing.clone(), |name| existing.join(name));
    let shown = real.strip_prefix(&root).unwrap_or(&real);
    let plain: PathBuf = given.components().filter(|part| !matches!(part, Component::CurDir)).collect();
    let target = shown.to_string_lossy().into_owned();
    (shown != plain).then(|| LinkTarget { path: path.to_owned(), target })
}

fn directories(folder: &Path) -> std::io::Result<SubdirectoryList> {
    let mut names = std::fs::read_dir(folder)?;
    let entries = names.by_ref().take(MAX_NAMES).flatten();
    let directory = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
        // A link to a directory is one, too.
        let is_directory = entry.path().is_dir();
        is_directory.then(|| (name, entry.path()))
    };
    let mut found: Vec<(String, PathBuf)> = entries.filter_map(directory).collect();
    found.sort_by_cached_key(|(name, _)| (name.to_lowercase(), name.clone()));
    let is_cut = found.len() > MAX_DIRECTORIES || names.next().is_some();
    found.truncate(MAX_DIRECTORIES);
    let one = |(name, path): (String, PathBuf)| {
        let is_git = path.join(".git").exists();
        Directory { name, path: path.display().to_string(), is_git }
    };
    Ok(SubdirectoryList { directories: found.into_iter().map(one).collect(), is_cut })
}

/// Reads the file, unless it is a link that leads out of the workspace.
fn instructions(workspace: &Path) -> Option<String> {
    let workspace = workspace.canonicalize().ok()?;
    let path = workspace.join("AGENTS.md").canonicalize().ok().filter(|path| path.starts_with(&workspace))?;
    let file = std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    let mut text = Vec::new();
    file.take(MAX_INSTRUCTIONS).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
