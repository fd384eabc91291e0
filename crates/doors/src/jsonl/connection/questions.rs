//! What the client is asked, and what it answers.

use ostler_door_kit::line_connection::OutboxClosed;
use ostler_types::Refusal;

use super::super::commands::UiResponse;
use super::super::dialogs::{self, UiResponseOutcome};
use super::super::notices::JsonlQuestion;
use super::super::session_starter::to_refusal;
use super::JsonlConnection;

impl JsonlConnection {
    /// Puts a question of a session to the client, or answers it where nobody is there to ask.
    pub(super) async fn ask_client(
        &mut self,
        place: usize,
        question: JsonlQuestion,
    ) -> Result<(), OutboxClosed> {
        let open = &self.sessions[place];
        if self.options.ui {
            let line = self.dialogs.ask(open.id, question);
            return self.send_all(line.into_iter().collect()).await;
        }
        // Those who asked for the turn may have somebody to ask; if it was this client, nobody has.
        if open.own_turns.is_empty() {
            return Ok(());
        }
        let (id, command) = dialogs::denial_without_ui(question.key);
        self.submit(id, command).await
    }

    /// Takes an answer. One that does not count leaves the question as it is.
    pub(super) async fn handle_response(&mut self, response: &UiResponse) -> Result<(), OutboxClosed> {
        match self.dialogs.respond(response) {
            UiResponseOutcome::Submit(id, command) => match self.context.engine.submit(id, *command).await {
                Ok(_) => Ok(()),
                Err(error) => {
                    self.dialogs.reopen(&response.id);
                    self.send_refusal(&to_refusal(error), Some(id)).await
                }
            },
            UiResponseOutcome::TooLate => Ok(()),
            UiResponseOutcome::Invalid { message, session_id } => {
                self.send_refusal(&Refusal::invalid("bad_answer", message), session_id).await
            }
        }
    }
}
