//! A session that was read from a file, as it will be here.

use ostler_recorder::import::ImportedSession;
use ostler_types::{Event, NewRecord, Record, Session, SessionEvent};

use crate::context::DoorContext;
use crate::directories::refuse_own_data;
use crate::error::DoorError;

/// The records of a session that was read, and how it is described from now on.
pub async fn imported_records(
    context: &DoorContext,
    mut imported: ImportedSession,
    workspace: String,
) -> Result<Vec<NewRecord>, DoorError> {
    refuse_own_data(context, "workspace_path", &workspace)?;
    let policy = context.settings.policy.clone();
    let model = usable_model(context, &imported.session).await?;
    let session = Session {
        workspace_path: workspace,
        model,
        parent_session_id: None,
        depth: 0,
        name: None,
        ..imported.local_description(policy)
    };
    if context.engine.read_records(imported.origin, 1, 1).await.is_ok_and(|records| !records.is_empty()) {
        imported.remove_usage();
    }
    let now = context.engine.clock().now();
    let new = |Record { ts, turn_id, event, .. }| NewRecord { ts, turn_id, event };
    let mut records: Vec<NewRecord> = imported.records.into_iter().map(new).collect();
    records.push(NewRecord {
        ts: now,
        turn_id: None,
        event: Event::Session(SessionEvent::Updated { session }),
    });
    Ok(records)
}

/// Its model, or the one that the policy leads to when there is no such model here.
async fn usable_model(context: &DoorContext, session: &Session) -> Result<String, DoorError> {
    let models = &context.settings.models;
    if models.check(&session.model).is_ok() {
        return Ok(session.model.clone());
    }
    Ok(models.choose(&context.settings.policy.model).await?.model)
}
