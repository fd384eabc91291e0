//! What a session's records, and each wire's words for them, come down to: facts that can be compared between doors.

use serde_json::Value;

/// What somebody has been told, in order, and how far a test has looked at it.
#[derive(Debug, Default)]
pub(super) struct ObservedFacts {
    pub(super) all: Vec<String>,
    at: usize,
}

impl ObservedFacts {
    pub(super) fn push(&mut self, fact: impl Into<String>) {
        self.all.push(fact.into());
    }

    /// Looks for a fact that begins like this among those that have not been looked at, and goes on after it.
    pub(super) fn find(&mut self, wanted: &str) -> bool {
        let place = self.all[self.at..].iter().position(|fact| fact.starts_with(wanted));
        self.at = place.map_or(self.at, |place| self.at + place + 1);
        place.is_some()
    }

    /// The same for two, in whichever order they come.
    pub(super) fn find_both(&mut self, one: &str, other: &str) -> bool {
        let (at, both) = (self.at, [one, other]);
        let here = both.into_iter().filter_map(|wanted| {
            self.at = at;
            self.find(wanted).then_some(self.at)
        });
        let here: Vec<usize> = here.collect();
        self.at = if here.len() == 2 { here[0].max(here[1]) } else { at };
        here.len() == 2
    }

    /// Those that begin with one of these words.
    pub(super) fn only(&self, words: &[&str]) -> Vec<String> {
        only(&self.all, words)
    }
}

/// Those that begin with one of these words.
pub(super) fn only(facts: &[String], words: &[&str]) -> Vec<String> {
    facts.iter().filter(|fact| words.iter().any(|word| fact.starts_with(word))).cloned().collect()
}

/// What a record says, if it says anything that more than one wire has a word for.
pub(super) fn of_record(record: &Value) -> Option<String> {
    let data = &record["data"];
    Some(match record["type"].as_str().unwrap() {
        "message_added" if data["message"]["role"] == "user" => {
            format!("user {}", text(&data["message"]["parts"]))
        }
        "model_output_completed" => Some(text(&data["message"]["parts"]))
            .filter(|text| !text.is_empty())
            .map(|text| format!("text {text}"))?,
        "tool_call_started" => format!("started {}", word(&data["tool_call"]["name"])),
        "tool_call_completed" => format!("completed {}", word(&data["tool_call"]["name"])),
        "approval_requested" => format!("asked {}", word(&data["tool_call"]["name"])),
        "approval_granted" => format!("granted by {}", who(&data["by"])),
        "approval_denied" => format!("denied by {}", who(&data["by"])),
        "turn_completed" => "end completed".to_owned(),
        "turn_failed" => "end failed".to_owned(),
        "turn_canceled" => "end canceled".to_owned(),
        _ => return None,
    })
}

/// What an event of the gateway says, text aside.
pub(super) fn of_gateway(event: &Value) -> Option<String> {
    let data = &event["data"];
    Some(match event["event"].as_str().unwrap() {
        "tool.progress" => format!("started {}", tool(word(&data["message"]).strip_suffix(" is running")?)),
        "chat.tool_result" => format!("completed {}", tool(word(&data["tool"]))),
        "exec.approval_request" => format!("asked {}", tool(word(&data["toolName"]))),
        "exec.approval_resolved" if data["approved"] == true => format!("granted by {}", who(&data["by"])),
        "exec.approval_resolved" => format!("denied by {}", who(&data["by"])),
        "chat.final" if data["aborted"] == true => "end canceled".to_owned(),
        "chat.final" => "end completed".to_owned(),
        "chat.error" => "end failed".to_owned(),
        _ => return None,
    })
}

/// The tool that the gateway calls so.
fn tool(name: &str) -> &str {
    if name == "bash" { "shell" } else { name }
}

/// What an event of a session says over lines of JSON. How a run ended shows in what came before.
pub(super) fn of_line(event: &Value) -> Option<String> {
    let data = &event["data"];
    Some(match event["type"].as_str().unwrap() {
        "message_end" if data[0]["role"] == "user" => format!("user {}", text(&data[0]["content"])),
        "message_end" if data[0]["role"] == "assistant" => Some(text(&data[0]["content"]))
            .filter(|text| !text.is_empty())
            .map(|text| format!("text {text}"))?,
        "tool_execution_start" => format!("started {}", word(&data[1])),
        "tool_execution_end" => format!("completed {}", word(&data[1])),
        "agent_start" => "begin".to_owned(),
        "agent_end" => "end".to_owned(),
        _ => return None,
    })
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The door that an answer came through; some doors name the program besides.
fn who(by: &Value) -> &str {
    word(by).split(' ').next().unwrap()
}

fn text(parts: &Value) -> String {
    parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}
