//! Plans: what someone else's agent means to do, or what a turn has divided among other sessions.

use agent_client_protocol::v1::schema::{Plan as EditorPlan, SessionUpdate};
use ostler_acp::to_plan;
use ostler_types::{PlanEntry, Purpose, SessionId};

use super::EditorTranslator;

/// The plan as the editor knows it.
#[derive(Default)]
pub(super) struct AnnouncedPlan {
    entries: Vec<PlanEntry>,
    /// The subtask of each entry, and the session that works on it, when it is one of our own plans.
    subtasks: Vec<(String, Option<SessionId>)>,
}

impl AnnouncedPlan {
    /// Takes an agent's plan; returns it when it is new.
    pub(super) fn replace(&mut self, plan: &[PlanEntry]) -> Option<EditorPlan> {
        if self.entries == plan {
            return None;
        }
        (self.entries, self.subtasks) = (plan.to_vec(), Vec::new());
        Some(to_plan(&self.entries))
    }

    fn set_status(&mut self, place: usize, status: &str) -> EditorPlan {
        status.clone_into(&mut self.entries[place].status);
        to_plan(&self.entries)
    }
}

impl EditorTranslator {
    /// A turn that divides work has a plan from its beginning.
    pub(super) fn begin_plan(&mut self, purpose: &Purpose, out: &mut Vec<u8>) {
        let plan = match purpose {
            Purpose::Answer | Purpose::Compact => return,
            Purpose::Subtasks { plan } => plan,
        };
        let entry = |content: &str| PlanEntry {
            content: ostler_acp::to_plain_line(content, 500),
            priority: "medium".to_owned(),
            status: "pending".to_owned(),
        };
        let described = plan.subtasks.iter().map(|task| task.description.as_deref().unwrap_or(&task.id));
        self.plan = AnnouncedPlan {
            entries: described.map(entry).collect(),
            subtasks: plan.subtasks.iter().map(|task| (task.id.clone(), None)).collect(),
        };
        self.send_update(SessionUpdate::Plan(to_plan(&self.plan.entries)), out);
    }

    /// A session begins to work on a subtask.
    pub(super) fn child_started(&mut self, id: SessionId, subtask: Option<&str>, out: &mut Vec<u8>) {
        let Some(subtask) = subtask else { return };
        let Some(place) = self.plan.subtasks.iter().position(|(name, _)| name == subtask) else { return };
        self.plan.subtasks[place].1 = Some(id);
        let plan = self.plan.set_status(place, "in_progress");
        self.send_update(SessionUpdate::Plan(plan), out);
    }

    /// That session has ended, one way or the other: the protocol knows no failed entries.
    pub(super) fn child_ended(&mut self, id: SessionId, out: &mut Vec<u8>) {
        let Some(place) = self.plan.subtasks.iter().position(|(_, child)| *child == Some(id)) else { return };
        let plan = self.plan.set_status(place, "completed");
        self.send_update(SessionUpdate::Plan(plan), out);
    }
}
