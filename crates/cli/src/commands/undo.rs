//! `ostler undo`: brings a workspace back to how it was before a turn, or shows what that would do.

use anyhow::Context;
use ostler_api_types::UndoTurn;
use ostler_client::Client;
use ostler_types::{SessionId, TurnId};

use super::CommandContext;
use crate::args::Undo;
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::render::counted;

pub(super) async fn undo(setting: CommandContext, args: Undo) -> anyhow::Result<CliExit> {
    let reached =
        connect_or_start(&setting.data_dir, &setting.loaded.config, &setting.environment, DaemonPurpose::Run)
            .await?;
    let done = undo_turn(&setting, &reached.client, args).await;
    reached.stop_when_idle().await;
    done
}

async fn undo_turn(setting: &CommandContext, client: &Client, args: Undo) -> anyhow::Result<CliExit> {
    let finder = setting.finder(client);
    let id = finder.session_or_only(args.id.as_ref()).await?;
    let turn_id = match &args.turn {
        Some(turn) => finder.turn(id, turn).await?,
        None => last_change(client, id).await?,
    };
    let undo = UndoTurn { turn_id, preview: Some(args.preview), force: Some(args.force) };
    let undone = client.undo(id, &undo).await?;
    let lists =
        [("reverted", &undone.restored), ("recreated", &undone.recreated), ("deleted", &undone.deleted)];
    for (what, paths) in lists {
        for path in paths {
            say!("{what:<12}  {}", path.escape_debug());
        }
    }
    for conflict in &undone.conflicts {
        say!("skipped       {}: {}", conflict.path.escape_debug(), conflict.why);
    }
    for left_out in &undone.left_out {
        say!("not covered   {}: {}", left_out.path.escape_debug(), left_out.why);
    }
    let changed = undone.restored.len() + undone.recreated.len() + undone.deleted.len();
    match (args.preview, changed, undone.conflicts.is_empty()) {
        (true, ..) => {
            say!("preview: {} would change; run without --preview to apply", counted(changed as u64, "file"))
        }
        (false, 0, true) => say!("nothing to revert: the workspace is already as it was before {turn_id}"),
        (false, _, true) => say!("reverted the workspace to before {turn_id}"),
        (false, _, false) => say!("some files were skipped; `--force` reverts them too"),
    }
    if changed > 0 {
        say!("{}", undone.note);
    }
    let is_whole = undone.conflicts.is_empty() && undone.left_out.is_empty();
    Ok(if args.preview || is_whole { CliExit::Success } else { CliExit::Failure })
}

/// The newest turn that changed the workspace.
async fn last_change(client: &Client, id: SessionId) -> anyhow::Result<TurnId> {
    let turns = client.session(id).await?.turns;
    let last = turns.iter().rev().find(|turn| turn.checkpoint_before.is_some());
    last.map(|turn| turn.id).with_context(|| format!("no turn of {id} changed the workspace"))
}
