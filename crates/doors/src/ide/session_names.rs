//! What this wire calls things: a session is `{agent}:{the agent's own id of it}`, the native agent is `ostler`, and
//! a session is called by the beginning of its first message.

use ostler_engine::{Engine, EngineError};
use ostler_types::{Session, SessionId, SessionView};
use uuid::Uuid;

/// What the native agent is called here.
pub(super) const NATIVE_CLI_TYPE: &str = "ostler";
/// What it is called everywhere else.
pub(super) const NATIVE: &str = "native";
/// The title of a session that has none yet.
pub(super) const UNTITLED: &str = "New Session";
/// The most that is taken of a message for a title, in UTF-16 units, as browsers count.
const MAX_TITLE_UNITS: usize = 50;
/// A title is cut at a space only if so much is left.
const MIN_TITLE_UNITS: usize = 20;

/// What an agent is called here.
pub(super) fn agent_to_cli_type(agent: &str) -> &str {
    if agent == NATIVE { NATIVE_CLI_TYPE } else { agent }
}

/// The agent that is called so here.
pub(super) fn cli_type_to_agent(cli_type: &str) -> Option<&str> {
    match cli_type {
        NATIVE_CLI_TYPE => Some(NATIVE),
        NATIVE => None,
        other => Some(other),
    }
}

/// What a session is called. One that its agent has not named yet goes by its UUID.
pub(super) fn session_name(session: &Session) -> String {
    let agent = agent_to_cli_type(&session.agent);
    match &session.agent_session_id {
        Some(own) if session.agent != NATIVE => format!("{agent}:{own}"),
        Some(_) | None => format!("{agent}:{}", session.id.uuid()),
    }
}

/// The session that is called so.
pub(super) async fn find(engine: &Engine, name: &str) -> Result<SessionView, EngineError> {
    let (prefix, own) = name.split_once(':').ok_or(EngineError::NotFound)?;
    let agent = cli_type_to_agent(prefix).ok_or(EngineError::NotFound)?;
    let known = if agent == NATIVE { None } else { engine.by_agent_session(agent, own).await? };
    let id = known.or_else(|| parse_uuid(own).map(SessionId::new)).ok_or(EngineError::NotFound)?;
    let view = engine.view(id).await?;
    if view.session.agent == agent { Ok(view) } else { Err(EngineError::NotFound) }
}

/// A UUID in its one spelling.
pub(super) fn parse_uuid(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok().filter(|uuid| uuid.to_string() == text)
}

/// What a session is called after its first message.
pub(super) fn title_from_message(content: &str) -> String {
    let content = content.trim();
    let mut end = (0, 0);
    let mut space = None;
    for (at, letter) in content.char_indices() {
        let units = end.1 + letter.len_utf16();
        if units > MAX_TITLE_UNITS {
            let kept = match space {
                Some((at, units)) if units > MIN_TITLE_UNITS => &content[..at],
                Some(_) | None => &content[..end.0],
            };
            return format!("{kept}...");
        }
        if letter == ' ' {
            space = Some((at, end.1));
        }
        end = (at + letter.len_utf8(), units);
    }
    content.to_owned()
}

#[cfg(test)]
mod tests {
    use ostler_types::{NewSession, SessionId};
    use uuid::Uuid;

    use super::{cli_type_to_agent, parse_uuid, session_name, title_from_message};

    #[test]
    fn a_title_has_fifty_letters_and_ends_with_a_word_if_one_is_near() {
        assert_eq!(title_from_message("  Fix the login bug \n"), "Fix the login bug");
        let exact = "x".repeat(50);
        assert_eq!(title_from_message(&exact), exact);
        assert_eq!(title_from_message(&"x".repeat(51)), format!("{exact}..."));
        let words = "Please refactor the authentication module so that it is testable";
        assert_eq!(title_from_message(words), "Please refactor the authentication module so that...");
        // The last space within the limit is too near to the beginning.
        let early = format!("{} {}", "a".repeat(20), "b".repeat(60));
        assert_eq!(title_from_message(&early), format!("{} {}...", "a".repeat(20), "b".repeat(29)));
        let late = format!("{} {}", "a".repeat(21), "b".repeat(60));
        assert_eq!(title_from_message(&late), format!("{}...", "a".repeat(21)));
        assert_eq!(title_from_message(&"😀".repeat(26)), format!("{}...", "😀".repeat(25)));
        assert_eq!(
            title_from_message(&format!("x{}", "😀".repeat(25))),
            format!("x{}...", "😀".repeat(24)),
            "no half letter"
        );
        assert_eq!(title_from_message(" \n "), "");
    }

    #[test]
    fn a_session_is_called_by_its_agent_and_what_that_calls_it() {
        let id = SessionId::new(Uuid::from_u128(7));
        let new = NewSession::new(id, jiff::Timestamp::UNIX_EPOCH, "/w", "m:m");
        let new =
            NewSession { agent: "claude".to_owned(), agent_session_id: Some("a:b:c".to_owned()), ..new };
        let events = ostler_types::create(new).unwrap();
        let ostler_types::Event::Session(ostler_types::SessionEvent::Created { mut session }) =
            events[0].clone()
        else {
            panic!()
        };
        assert_eq!(session_name(&session), "claude:a:b:c");
        session.agent_session_id = None;
        assert_eq!(session_name(&session), "claude:00000000-0000-0000-0000-000000000007");
        session.agent = "native".to_owned();
        assert_eq!(session_name(&session), "ostler:00000000-0000-0000-0000-000000000007");
        assert_eq!(
            (cli_type_to_agent("ostler"), cli_type_to_agent("native"), cli_type_to_agent("x")),
            (Some("native"), None, Some("x"))
        );
        assert!(parse_uuid("0190f3c4a5b67c8d9e0f112233445566").is_none(), "one spelling");
    }
}
