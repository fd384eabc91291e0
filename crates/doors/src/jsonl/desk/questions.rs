//! What the client is asked, and what it answers.

use ostler_door_kit::lines::Closed;
use ostler_types::Refusal;

use super::super::commands::UiResponse;
use super::super::dialogs::{self, Response};
use super::super::notes::Question;
use super::super::start::refusal;
use super::Desk;

impl Desk {
    /// Puts a question of a session to the client, or answers it where nobody is there to ask.
    pub(super) async fn asked(&mut self, place: usize, question: Question) -> Result<(), Closed> {
        let open = &self.sessions[place];
        if self.options.ui {
            let line = self.dialogs.ask(open.id, question);
            return self.send_all(line.into_iter().collect()).await;
        }
        // Those who asked for the turn may have somebody to ask; if it was this client, nobody has.
        if open.own.is_empty() {
            return Ok(());
        }
        let (id, command) = dialogs::nobody(question.key);
        self.submit(id, command).await
    }

    /// Takes an answer. One that does not count leaves the question as it is.
    pub(super) async fn respond(&mut self, response: &UiResponse) -> Result<(), Closed> {
        match self.dialogs.respond(response) {
            Response::Submit(id, command) => match self.context.engine.submit(id, *command).await {
                Ok(_) => Ok(()),
                Err(error) => {
                    self.dialogs.reopen(&response.id);
                    self.refuse(&refusal(error), Some(id)).await
                }
            },
            Response::Late => Ok(()),
            Response::Wrong { message, session_id } => {
                self.refuse(&Refusal::invalid("bad_answer", message), session_id).await
            }
        }
    }
}
