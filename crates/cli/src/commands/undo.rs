//! `ostler undo`: brings a workspace back to how it was before a turn, or shows what that would do.

use anyhow::Context;
use ostler_api_types::UndoTurn;
use ostler_client::Client;
use ostler_types::{SessionId, TurnId};

use super::CommandContext;
use crate::args::Undo;
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;

pub(super) async fn undo(setting: CommandContext, args: Undo) -> anyhow::Result<CliExit> {
    let reached =
        connect_or_start(&setting.data_dir, &setting.loaded.config, &setting.environment, DaemonPurpose::Run)
            .await?;
    let done = undo_turn(&reached.client, args).await;
    reached.stop_when_idle().await;
    done
}

async fn undo_turn(client: &Client, args: Undo) -> anyhow::Result<CliExit> {
    let turn_id = match args.turn {
        Some(turn) => turn,
        None => last_change(client, args.id).await?,
    };
    let undo = UndoTurn { turn_id, preview: Some(args.preview), force: Some(args.force) };
    let undone = client.undo(args.id, &undo).await?;
    let lists =
        [("changed back", &undone.restored), ("there again", &undone.recreated), ("gone", &undone.deleted)];
    for (what, paths) in lists {
        for path in paths {
            say!("{what:<12}  {}", path.escape_debug());
        }
    }
    for conflict in &undone.conflicts {
        say!("left alone    {}: {}", conflict.path.escape_debug(), conflict.why);
    }
    for left_out in &undone.left_out {
        say!("not covered   {}: {}", left_out.path.escape_debug(), left_out.why);
    }
    let changed = undone.restored.len() + undone.recreated.len() + undone.deleted.len();
    match (args.preview, changed, undone.conflicts.is_empty()) {
        (true, ..) => say!("nothing was changed yet; without --preview, {changed} files would be"),
        (false, 0, true) => say!("what the turns changed is already as it was before {turn_id}"),
        (false, _, true) => say!("what the turns changed is as it was before {turn_id}"),
        (false, _, false) => say!("files that were left alone are put back with --force"),
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
    last.map(|turn| turn.id).with_context(|| format!("no turn of {id} has changed its workspace"))
}
