//! `ostler export` and `ostler import`: sessions as files.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context;
use bytes::Bytes;
use ostler_client::{Client, ClientError, ExportFormat, ImportFormat};
use ostler_types::SessionId;
use ostler_workspace_fs::{Durability, ReplaceOptions, Replacement};

use super::CommandContext;
use crate::args::{ExportArgs, ExportAs, ImportArgs, ImportFrom};
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::output::{FileOutput, OutputStream};

/// Bytes in a file to import; the daemon takes no more.
const MAX_IMPORT: u64 = 256 << 20;

pub(super) async fn export(setting: CommandContext, args: ExportArgs) -> anyhow::Result<CliExit> {
    let format = match args.format {
        ExportAs::Md => ExportFormat::Markdown,
        ExportAs::Html => ExportFormat::Html,
        ExportAs::Ndjson => ExportFormat::Ndjson,
        ExportAs::Sqlite => ExportFormat::Sqlite,
        ExportAs::Zip => ExportFormat::Zip,
    };
    let is_binary = matches!(format, ExportFormat::Sqlite | ExportFormat::Zip);
    if is_binary && args.output.is_none() && OutputStream::Stdout.is_terminal() {
        report!("error: binary output; use -o FILE");
        return Ok(CliExit::Usage);
    }
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let done = async {
        let id = setting.finder(&reached.client).session_or_only(args.id.as_ref()).await?;
        let replaces = args.output.as_ref().is_some_and(|path| path.exists());
        write(&reached.client, id, format, args.output.as_deref()).await?;
        if let Some(path) = args.output.as_ref().filter(|_| !setting.output_manner.quiet) {
            let what = if replaces { "replaced" } else { "wrote" };
            report!("{what} {}", path.display());
        }
        anyhow::Ok(CliExit::Success)
    };
    let done = done.await;
    reached.stop_when_idle().await;
    done
}

async fn write(
    client: &Client,
    id: SessionId,
    format: ExportFormat,
    output: Option<&Path>,
) -> anyhow::Result<()> {
    // Nothing is made or emptied before there is something to write.
    let mut download = client.download(id, format).await?;
    let Some(path) = output else {
        let mut out = FileOutput::default();
        while let Some(chunk) = download.next().await? {
            out.write_all(&chunk)?;
        }
        return Ok(out.flush()?);
    };
    let written = async {
        let options = ReplaceOptions { durability: Durability::Cached, ..ReplaceOptions::USER_FILE };
        let mut out = Replacement::begin(path, options)?;
        while let Some(chunk) = download.next().await? {
            out.write_all(&chunk)?;
        }
        anyhow::Ok(out.finish()?)
    };
    written.await.with_context(|| format!("cannot write {}", path.display()))
}

pub(super) async fn import(setting: CommandContext, args: ImportArgs) -> anyhow::Result<CliExit> {
    let format = args.format.map(|format| match format {
        ImportFrom::Zip => ImportFormat::Zip,
        ImportFrom::Ndjson => ImportFormat::Ndjson,
        ImportFrom::Transcript => ImportFormat::Transcript,
    });
    let content = read(&args.file)?;
    let workspace = match &args.workspace {
        Some(path) => {
            let path = path.canonicalize().with_context(|| format!("{} cannot be used", path.display()))?;
            Some(path.to_string_lossy().into_owned())
        }
        None => None,
    };
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let imported = send(&reached.client, content.into(), format, workspace).await;
    reached.stop_when_idle().await;
    say!("{}", imported?);
    Ok(CliExit::Success)
}

/// A session from another machine may have worked in a directory that is not there; then it goes on in this one.
async fn send(
    client: &Client,
    content: Bytes,
    format: Option<ImportFormat>,
    workspace: Option<String>,
) -> anyhow::Result<SessionId> {
    match client.import(content.clone(), format, workspace.as_deref()).await {
        Err(ClientError::Refused { code, .. }) if code == "bad_workspace" && workspace.is_none() => {
            let here = std::env::current_dir().context("the current directory cannot be used")?;
            report!("note: the session goes on in {}", here.display());
            Ok(client.import(content, format, Some(&here.to_string_lossy())).await?)
        }
        imported => Ok(imported?),
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut content = Vec::new();
    let failed = || format!("{} cannot be read", path.display());
    if path == Path::new("-") {
        std::io::stdin().take(MAX_IMPORT + 1).read_to_end(&mut content).with_context(failed)?;
    } else {
        let file = std::fs::File::open(path).with_context(failed)?;
        file.take(MAX_IMPORT + 1).read_to_end(&mut content).with_context(failed)?;
    }
    anyhow::ensure!(
        content.len() as u64 <= MAX_IMPORT,
        "{} is larger than {} MiB",
        path.display(),
        MAX_IMPORT >> 20
    );
    Ok(content)
}
