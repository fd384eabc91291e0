//! `ostler fork`, `compact`, `context` and `note`: what is done to a session as a whole.

use ostler_api_types::{ContextView, SendMessage, Speaker};
use ostler_client::Client;
use ostler_types::in_one_line;

use super::CommandContext;
use super::approval_prompt::ApprovalPrompt;
use super::event_output::EventOutput;
use super::run::typed_or_stdin;
use super::turn_watcher::TurnWatcher;
use crate::args::{ApproveWhen, ForkArgs, SessionRef};
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::render::counted;

/// Makes a session, and prints nothing but its id, so that it can be used in another command.
pub(super) async fn fork(setting: CommandContext, args: ForkArgs) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let forked = async {
        let finder = setting.finder(&reached.client);
        let id = finder.session_or_only(args.id.as_ref()).await?;
        let turn = match &args.turn {
            Some(turn) => Some(finder.turn(id, turn).await?),
            None => None,
        };
        anyhow::Ok(reached.client.fork(id, turn).await?)
    };
    let forked = forked.await;
    reached.stop_when_idle().await;
    say!("{}", forked?);
    Ok(CliExit::Success)
}

pub(super) async fn compact(setting: CommandContext, id: Option<SessionRef>) -> anyhow::Result<CliExit> {
    let reached =
        connect_or_start(&setting.data_dir, &setting.loaded.config, &setting.environment, DaemonPurpose::Run)
            .await?;
    let exit = follow_compaction(&reached.client, &setting, id.as_ref()).await;
    reached.stop_when_idle().await;
    exit
}

async fn follow_compaction(
    client: &Client,
    setting: &CommandContext,
    id: Option<&SessionRef>,
) -> anyhow::Result<CliExit> {
    let id = setting.finder(client).session_or_only(id).await?;
    let after = client.session(id).await?.last_seq;
    let mut events = client.events_resuming(id, after).await?;
    let turn_id = client.compact(id).await?;
    let screen = EventOutput::new(false, false, false, setting);
    let mut turn = TurnWatcher::new(
        client,
        (id, turn_id),
        None,
        ApproveWhen::Never,
        screen,
        ApprovalPrompt::new(setting),
    )?;
    let exit = turn.follow(&mut events).await?;
    if let Ok(context) = client.context(id).await {
        say!("context: {}", share(&context));
    }
    Ok(exit)
}

pub(super) async fn context(
    setting: CommandContext,
    id: Option<SessionRef>,
    json: bool,
) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let context = async {
        let id = setting.finder(&reached.client).session_or_only(id.as_ref()).await?;
        anyhow::Ok(reached.client.context(id).await?)
    };
    let context = context.await;
    reached.stop_when_idle().await;
    let context = context?;
    if json {
        crate::output::json(&context)?;
    } else {
        put!("{}", table(&context));
    }
    Ok(CliExit::Success)
}

fn table(context: &ContextView) -> String {
    let mut text =
        format!("{}: {}, {}\n", context.model, share(context), counted(context.messages, "message"));
    for share in &context.sections {
        let name = in_one_line(&share.section.name, 40);
        text.push_str(&format!("  {name:<40}  {:>9}  {:>5.1} %\n", share.section.tokens, share.percent));
    }
    text
}

/// How much of the model's window is taken.
fn share(context: &ContextView) -> String {
    match (context.window, context.percent) {
        (Some(window), Some(percent)) => format!("about {} of {window} tokens ({percent} %)", context.tokens),
        _ => format!("about {} tokens (context window: unknown)", context.tokens),
    }
}

/// Adds what the model is to know, and starts nothing.
pub(super) async fn note(
    setting: CommandContext,
    id: Option<SessionRef>,
    given: String,
) -> anyhow::Result<CliExit> {
    let note = typed_or_stdin(&given)?;
    if note.trim().is_empty() {
        report!("error: the text is empty");
        return Ok(CliExit::Usage);
    }
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let note = SendMessage { role: Speaker::System, auto_run: Some(false), ..SendMessage::prompt(note) };
    let sent = async {
        let id = setting.finder(&reached.client).session_or_only(id.as_ref()).await?;
        anyhow::Ok(reached.client.send_message(id, &note).await?)
    };
    let sent = sent.await;
    reached.stop_when_idle().await;
    say!("{}", sent?.message_id);
    Ok(CliExit::Success)
}

#[cfg(test)]
mod tests {
    use ostler_api_types::{ContextShare, ContextView};
    use ostler_types::{ContextKind, ContextSection};

    use super::table;

    #[test]
    fn a_context_is_a_line_for_each_piece() {
        let share = |name: &str, tokens, percent| ContextShare {
            section: ContextSection { kind: ContextKind::User, name: name.to_owned(), messages: 1, tokens },
            percent,
        };
        let mut context = ContextView {
            model: "demo:demo".to_owned(),
            tokens: 100,
            window: Some(1000),
            percent: Some(10.0),
            messages: 2,
            sections: vec![share("system prompt", 75, 75.0), share("evil\u{1b}[2J\nname", 25, 25.0)],
        };
        let text = table(&context);
        assert!(text.starts_with("demo:demo: about 100 of 1000 tokens (10 %), 2 messages\n"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        (context.window, context.percent) = (None, None);
        assert!(table(&context).contains("unknown"));
    }
}
