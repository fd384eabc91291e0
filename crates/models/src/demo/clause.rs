//! One clause of a request, such as `please read README.md`, understood or not.
//!
//! Files are left to `files` and `writing`; here are the rest of the verbs and the words that all of
//! them share.

use serde_json::{Map, Value};

use super::{files, name, writing};

/// One thing that a person wants.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DemoIntent {
    /// A tool is to be called.
    Call(CallIntent),
    /// Something is to be said.
    Say {
        /// What.
        text: String,
        /// Word by word.
        slowly: bool,
    },
    /// Something is to be thought about.
    Think {
        /// What.
        about: String,
    },
    /// The person's name is to be told.
    TellName,
    /// Code is to be mended.
    FixCode,
    /// The model is to say what it can do.
    Explain {
        /// The person greeted it.
        greeting: bool,
    },
    /// The rest is to be left undone.
    Stop,
}

impl DemoIntent {
    /// A few words for it.
    pub(super) fn name(&self) -> String {
        match self {
            DemoIntent::Call(call) => format!("`{}`", call.tool),
            DemoIntent::Say { .. } => "saying something".to_owned(),
            DemoIntent::Think { about } => format!("thinking about {about}"),
            DemoIntent::TellName => "telling your name".to_owned(),
            DemoIntent::FixCode => "fixing the code".to_owned(),
            DemoIntent::Explain { .. } => "explaining myself".to_owned(),
            DemoIntent::Stop => "stopping".to_owned(),
        }
    }
}

/// A call that a person asked for in words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallIntent {
    pub(super) tool: &'static str,
    pub(super) parallel: bool,
    arguments: Map<String, Value>,
}

impl CallIntent {
    pub(super) fn new<const N: usize>(tool: &'static str, arguments: [(&str, Value); N]) -> CallIntent {
        let arguments = arguments.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        CallIntent { tool, parallel: false, arguments }
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> CallIntent {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }

    /// An argument that is text.
    pub(super) fn argument(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    /// The input as the tool gets it.
    pub(super) fn input(&self) -> Value {
        let mut arguments = self.arguments.clone();
        if self.parallel {
            arguments.insert("_parallel".to_owned(), Value::Bool(true));
        }
        Value::Object(arguments)
    }
}

/// What one clause asks for. None if it is not understood.
pub(super) fn parse_clause(text: &str) -> Option<Vec<DemoIntent>> {
    let text = without_courtesy(text);
    let one = |wish: DemoIntent| vec![wish];
    stop(text)
        .or_else(|| name::is_asked_for(text).then_some(DemoIntent::TellName))
        .or_else(|| think(text))
        .or_else(|| say(text))
        .or_else(|| run(text))
        .map(one)
        .or_else(|| writing::write(text).map(|call| one(DemoIntent::Call(call))))
        .or_else(|| files::list(text).map(|call| one(DemoIntent::Call(call))))
        .or_else(|| files::search(text).map(|call| one(DemoIntent::Call(call))))
        .or_else(|| files::read(text).map(|calls| calls.into_iter().map(DemoIntent::Call).collect()))
}

/// The text after one of these words, in any case. A word must end there: `a` is not the head of `a.txt`.
pub(super) fn text_after<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| {
        let rest = text.get(word.len()..)?;
        (text[..word.len()].eq_ignore_ascii_case(word) && ends_a_word(rest)).then(|| rest.trim_start())
    })
}

fn ends_a_word(rest: &str) -> bool {
    let tail = rest.strip_prefix([',', ';', '.', '!', '?']).unwrap_or(rest);
    tail.is_empty() || tail.starts_with(char::is_whitespace) || rest.starts_with(':')
}

/// The text without any of these words at its head, however many there are.
pub(super) fn without_leading<'a>(mut text: &'a str, words: &[&str]) -> &'a str {
    while let Some(rest) = text_after(text, words) {
        text = rest;
    }
    text
}

/// The text without one of these endings.
pub(super) fn without_ending<'a>(text: &'a str, endings: &[&str]) -> Option<&'a str> {
    endings.iter().find_map(|ending| {
        let start = text.len().checked_sub(ending.len())?;
        let tail = text.get(start..)?;
        tail.eq_ignore_ascii_case(ending).then(|| text[..start].trim_end())
    })
}

/// The text without the quotes around it, if it has them.
pub(super) fn unquoted(text: &str) -> &str {
    let text = text.trim();
    [('`', '`'), ('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’')]
        .into_iter()
        .find_map(|(open, close)| {
            let inner = text.strip_prefix(open)?.strip_suffix(close)?;
            (!inner.contains([open, close])).then_some(inner)
        })
        .unwrap_or(text)
}

fn without_courtesy<'a>(text: &'a str) -> &'a str {
    let mut text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';'));
    let words = [
        "please",
        "can you",
        "could you",
        "would you",
        "will you",
        "i want you to",
        "i'd like you to",
        "go ahead and",
        "let's",
        "now",
        "first",
        "next",
        "finally",
        "also",
        "and",
        "then",
        "ok",
        "okay",
        "hey",
        "hi",
        "hello",
        "just",
        "to",
    ];
    while let Some(rest) = text_after(text, &words).filter(|rest| !rest.is_empty()) {
        text =
            rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';' | '!' | '.'));
    }
    let sentence = |text: &'a str| text.trim_end_matches(['.', '!', '?']);
    while let Some(rest) =
        without_ending(sentence(text), &[" please", ", please", " for me", " thanks", ", thanks"])
    {
        text = rest;
    }
    text.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'))
}

fn stop(text: &str) -> Option<DemoIntent> {
    let word = text.trim_end_matches(['.', '!']).to_ascii_lowercase();
    let stops =
        ["stop", "cancel", "abort", "never mind", "nevermind", "that's enough", "enough", "stop that"];
    stops.contains(&word.as_str()).then_some(DemoIntent::Stop)
}

fn think(text: &str) -> Option<DemoIntent> {
    let about =
        text_after(text, &["think about", "think of", "reason about", "ponder", "reflect on", "think"])?;
    let about = unquoted(about.trim_end_matches(['.', '!', '?'])).to_owned();
    Some(DemoIntent::Think { about })
}

fn say(text: &str) -> Option<DemoIntent> {
    let (text, slowly_first) = match text_after(text, &["slowly"]) {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let verbs = ["say after me", "repeat after me", "say", "repeat", "echo"];
    let words = text_after(text, &verbs)?.trim_start_matches([':', ',', ' ']);
    let (words, slowly_next) = match text_after(words, &["slowly"]).filter(|rest| !rest.is_empty()) {
        Some(rest) => (rest.trim_start_matches([':', ',', ' ']), true),
        None => (words, false),
    };
    let (words, slowly_last) = match without_ending(words, &[" slowly", ", slowly", " slowly.", " slowly!"]) {
        Some(rest) => (rest, true),
        None => (words, false),
    };
    let words = unquoted(words);
    let slowly = slowly_first || slowly_next || slowly_last;
    (!words.is_empty()).then(|| DemoIntent::Say { text: words.to_owned(), slowly })
}

fn run(text: &str) -> Option<DemoIntent> {
    let is_bare = text.len() > 2 && text.starts_with('`') && text.ends_with('`') && !text.starts_with("``");
    let command = if is_bare || text.starts_with("ls -") {
        text
    } else {
        let rest = text.strip_prefix("$ ").or_else(|| text_after(text, &["run", "execute", "exec"]))?;
        let rest = without_leading(
            rest.trim_start_matches([':', ' ']),
            &["the shell command", "the command", "command"],
        );
        rest.trim_start_matches([':', ' '])
    };
    // `run the tests` names no command, and guessing one is not for a demo.
    if text_after(command, &["the", "my", "all", "it", "this", "that", "a"]).is_some() {
        return None;
    }
    let command =
        without_ending(command, &[" in the shell", " in a shell", " in the terminal"]).unwrap_or(command);
    let command = between_backticks(command).unwrap_or_else(|| without_full_stop(unquoted(command)));
    (!command.is_empty()).then(|| DemoIntent::Call(CallIntent::new("shell", [("command", command.into())])))
}

/// What stands in backticks, where the command begins with them.
fn between_backticks(text: &str) -> Option<&str> {
    let (command, rest) = text.strip_prefix('`')?.split_once('`')?;
    (!rest.contains('`')).then(|| command.trim())
}

/// Drops the end of a sentence, but keeps a path such as `.` or `src/..`.
fn without_full_stop(text: &str) -> &str {
    match text.strip_suffix('.') {
        Some(rest) if rest.ends_with(|c: char| c.is_alphanumeric()) => rest,
        _ => text,
    }
}
