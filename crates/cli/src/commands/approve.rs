//! `ostler approve`: what waits for an answer, and answering.

use anyhow::Context;
use ostler_api_types::ApprovalAnswerBody as Answer;
use ostler_client::Client;
use ostler_types::{ToolCallId, Verdict, in_one_line};

use super::CommandContext;
use crate::args::Approve;
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::render::LINE_WIDTH;

pub(super) async fn approve(setting: CommandContext, approve: Approve) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let done = match &approve {
        Approve { id: Some(_), call: Some(_), .. } => answer(&reached.client, approve).await,
        _ => list(&reached.client).await,
    };
    reached.stop_when_idle().await;
    done.map(|()| CliExit::Success)
}

async fn list(client: &Client) -> anyhow::Result<()> {
    let approvals = client.approvals().await?;
    if approvals.is_empty() {
        say!("nothing waits for an answer");
    }
    for approval in approvals {
        say!("{} {}", approval.session_id, approval.tool_call_id);
        say!("    {}: {}", approval.tool, approval.summary.escape_debug());
        if !approval.is_review() {
            let rule = in_one_line(&approval.rule.to_string(), LINE_WIDTH);
            say!("    --scope session or always allows: {rule}");
        }
    }
    Ok(())
}

async fn answer(client: &Client, approve: Approve) -> anyhow::Result<()> {
    let Approve { id: Some(id), call: Some(call), deny, scope, reason } = approve else { return Ok(()) };
    let waiting = client.session(id).await?.pending_approvals;
    let tool_call_id = ToolCallId(call);
    let approval = waiting
        .into_iter()
        .find(|approval| approval.tool_call_id == tool_call_id)
        .with_context(|| format!("call {tool_call_id} of {id} does not wait for an answer; `ostler approve` lists those that do"))?;
    let action = if deny { Verdict::Deny } else { Verdict::Approve };
    let answer = Answer {
        turn_id: approval.turn_id,
        tool_call_id,
        action,
        scope: Some(scope),
        reason,
        review: None,
        option: None,
    };
    client.approve(id, &answer).await?;
    say!("{}", if deny { "denied" } else { "approved" });
    Ok(())
}
