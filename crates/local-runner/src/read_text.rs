//! Reads a file of the workspace for an agent, as it is. Whether the file may be looked at is for our own tool to
//! say, which knows what is hidden; then the kernel resolves the path beneath the workspace, whatever links say.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_runner::{ReadText, ToolContext};
use ostler_tools::Tools;
use ostler_workspace_fs::{LinkPolicy, ReadError, RootedTree};
use serde_json::json;

/// How long a file may be that is read at once.
const MAX_BYTES: u64 = 10 << 20;

/// Reads a file, or some of its lines counted from 1. The error says what was wrong.
pub(crate) async fn read_text(tools: &Tools, read: ReadText) -> Result<String, String> {
    let ReadText { session, workspace, path, line, limit } = read;
    let workspace = PathBuf::from(workspace);
    let tool = tools.get("read_file").ok_or("files cannot be read here")?;
    let context = ToolContext::new(workspace.clone(), session, Arc::new(|_, _| {}));
    let looked = tool.run(json!({"path": path, "start_line": 1, "end_line": 1}), context).await;
    if !looked.ok {
        return Err(looked.text);
    }
    let absolute = workspace.join(&path);
    let text = tokio::task::spawn_blocking(move || read_whole(&workspace, Path::new(&path))).await;
    let text = text.map_err(|error| error.to_string())??;
    let unsaved = tools.editors().unsaved(session, &absolute, Some(&text)).await;
    Ok(lines(&unsaved.unwrap_or(text), line, limit))
}

fn read_whole(workspace: &Path, path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let real = workspace.canonicalize().map_err(|error| error.to_string())?;
    let relative = path.strip_prefix(workspace).or_else(|_| path.strip_prefix(&real)).unwrap_or(path);
    let tree = RootedTree::open_following(workspace).map_err(|errno| cannot(errno.into()))?;
    let (file, _) = tree.file(relative, LinkPolicy::Inside).map_err(|error| match error {
        ReadError::NotAFile(_) => format!("{} is not a file", path.display()),
        ReadError::Errno(errno) => cannot(errno.into()),
    })?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!(
            "{} has more than {MAX_BYTES} bytes; read some of its lines by a command",
            path.display()
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("{} is not a text in UTF-8", path.display()))
}

fn lines(text: &str, line: Option<u32>, limit: Option<u32>) -> String {
    if line.is_none() && limit.is_none() {
        return text.to_owned();
    }
    let before = line.unwrap_or(1).saturating_sub(1) as usize;
    let count = limit.map_or(usize::MAX, |limit| limit as usize);
    text.split_inclusive('\n').skip(before).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn lines_are_counted_from_one_and_keep_their_ends() {
        let text = "a\nb\r\nc";
        assert_eq!(lines(text, None, None), text);
        assert_eq!(lines(text, Some(2), None), "b\r\nc");
        assert_eq!(lines(text, Some(0), Some(1)), "a\n");
        assert_eq!(lines(text, Some(9), Some(1)), "");
    }
}
