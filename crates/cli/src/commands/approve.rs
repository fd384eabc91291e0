//! `ostler approve`: lists pending approvals, and answers one: the one that is named, the only one, or on a terminal the
//! only one after it was shown.

use std::io::IsTerminal;

use ostler_api_types::ApprovalAnswerBody as Answer;
use ostler_client::Client;
use ostler_line_framing::LineReader;
use ostler_types::{PendingApproval, Verdict, in_one_line};

use super::CommandContext;
use super::approval_prompt::{ApprovalPrompt, MAX_ANSWER_BYTES, PendingQuestion, TypedAnswer};
use crate::args::Approve;
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::render::LINE_WIDTH;
use crate::resolve::pending_call;

pub(super) async fn approve(setting: CommandContext, approve: Approve) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let done = list_or_answer(&setting, &reached.client, approve).await;
    reached.stop_when_idle().await;
    done.map(|()| CliExit::Success)
}

async fn list_or_answer(setting: &CommandContext, client: &Client, approve: Approve) -> anyhow::Result<()> {
    let Approve { id, call, yes, deny, scope, reason } = approve;
    let pending = match &id {
        Some(id) => client.session(setting.finder(client).session(id).await?).await?.pending_approvals,
        None => client.approvals().await?,
    };
    let is_asked = id.is_none() && !yes && !deny;
    if is_asked && (pending.len() != 1 || !std::io::stdin().is_terminal()) {
        return list(pending);
    }
    let approval = pending_call(pending, call.as_deref())?;
    let answer = if is_asked {
        ask(setting, client, &approval).await?
    } else {
        TypedAnswer { verdict: if deny { Verdict::Deny } else { Verdict::Approve }, scope, reason }
    };
    let verdict = answer.verdict;
    client.approve(approval.session_id, &body(&approval, answer)).await?;
    say!("{}", if verdict == Verdict::Deny { "denied" } else { "approved" });
    Ok(())
}

fn list(approvals: Vec<PendingApproval>) -> anyhow::Result<()> {
    if approvals.is_empty() {
        say!("No pending approvals");
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

/// Shows a call, and asks until there is an answer.
async fn ask(
    setting: &CommandContext,
    client: &Client,
    approval: &PendingApproval,
) -> anyhow::Result<TypedAnswer> {
    say!("{} {}", approval.session_id, approval.tool_call_id);
    let mut question = PendingQuestion {
        session_id: approval.session_id,
        turn_id: approval.turn_id,
        tool_call_id: approval.tool_call_id.clone(),
        summary: approval.summary.clone(),
        input: approval.input.clone(),
        rule: (!approval.is_review()).then(|| approval.rule.to_string()),
        files: None,
    };
    let mut prompt = ApprovalPrompt::new(setting);
    prompt.ask(client, &mut question).await;
    let mut lines = LineReader::new(tokio::io::stdin(), MAX_ANSWER_BYTES);
    loop {
        if let Some(answer) = prompt.take_line(&question, lines.next_line().await?) {
            return Ok(answer);
        }
    }
}

fn body(approval: &PendingApproval, answer: TypedAnswer) -> Answer {
    Answer {
        turn_id: Some(approval.turn_id),
        tool_call_id: approval.tool_call_id.clone(),
        action: answer.verdict,
        scope: Some(answer.scope),
        reason: answer.reason,
        review: None,
        option: None,
    }
}
