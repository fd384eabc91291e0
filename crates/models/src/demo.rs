//! The embedded default model: small, deterministic, without a network, and it really drives the
//! tools, so that a newcomer sees a whole session without a key.
//!
//! It keeps nothing between two requests: what it does next follows from the conversation alone.
//! [`plan`] and [`clause`] understand what a person asks for, [`situation`] finds where the turn
//! stands, [`report`] words what the tools answered, [`script`] streams it all. It invents nothing: it
//! says only what it was told to say and what the tools answered.

mod clause;
mod files;
mod name;
mod plan;
mod report;
mod script;
mod situation;
mod writing;

use futures_util::stream::BoxStream;
use ostler_types::ToolSpec;

use crate::{Model, ModelError, ModelEvent, ModelRequest};
use clause::{CallIntent, DemoIntent};
use script::Script;
use situation::Situation;

/// The embedded model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demo;

impl Model for Demo {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        answer(&request).stream()
    }
}

/// What it is, what it understands, and how to get a better one.
const ABOUT: &str = "I am the embedded demo model: I follow a few plain requests and drive the real tools, without a \
network. You can say:

- `list the files` or `list the files in src`
- `read README.md`
- `search for main`
- ``run `ls -la` ``
- `write hello.txt with Hello!`
- `think about tests`
- `say one two three slowly`
- several at once: `list the files, then read README.md`, or `read a.txt and read b.txt in parallel`

To work with a real model, set a key such as `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, or start a local server such \
as Ollama; `ostler models` then lists what there is, and `--model PROVIDER:MODEL` chooses one.";

const CANNOT_FIX: &str = "The verification failed. I am the embedded demo model and cannot fix code, so I stop here; \
the output above says what is wrong. A real model (`--model NAME:MODEL`) could continue from it.";

fn answer(request: &ModelRequest) -> Script {
    let offered = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    let mut situation = Situation::from_messages(&request.messages, offered);
    let mut script = Script::new(request);
    for outcome in &situation.outcomes {
        script.say(&report::outcome_text(outcome));
    }
    if let Some(words) = acknowledge(&situation) {
        script.say(&words);
    }
    if situation.outcomes.iter().any(|outcome| !outcome.ok) {
        let left = situation.drop_earlier_wishes();
        if !left.is_empty() {
            script.say(&format!("So I did not go on with the rest: {}.", left.join(", ")));
        }
    }
    while let Some(wish) = situation.wishes.pop_front() {
        match wish {
            DemoIntent::Call(call) if !offered(call.tool) => script.say(&not_offered(&call, &request.tools)),
            DemoIntent::Call(call) => {
                let calls = with_parallel(call, &mut situation, offered);
                script.say(&report::intention_text(&calls));
                return script.end_with_calls(situation.calls_so_far, &calls);
            }
            DemoIntent::Say { text, slowly: false } => script.say(&text),
            DemoIntent::Say { text, slowly: true } => script.say_slowly(&text),
            DemoIntent::Think { about } => think(&mut script, &about),
            DemoIntent::TellName => script.say(&name::answer(&request.messages)),
            DemoIntent::FixCode => script.say(CANNOT_FIX),
            DemoIntent::Explain { greeting } => script.say(&explain(greeting)),
            DemoIntent::Stop => script.say("I stop here."),
        }
    }
    if script.is_empty() {
        script.say(ABOUT);
    }
    script.end_turn()
}

/// The call, with those that are to run beside it.
fn with_parallel(
    first: CallIntent,
    situation: &mut Situation<'_>,
    offered: impl Fn(&str) -> bool,
) -> Vec<CallIntent> {
    let mut calls = vec![first];
    while let Some(DemoIntent::Call(call)) = situation.wishes.front() {
        if !(calls[0].parallel && call.parallel && offered(call.tool)) {
            break;
        }
        calls.push(call.clone());
        situation.wishes.pop_front();
    }
    calls
}

fn acknowledge(situation: &Situation<'_>) -> Option<String> {
    let added = situation.steering.as_ref()?;
    let quote = report::quote(&added.text);
    Some(if added.stops {
        format!("You said {quote}, so I leave the rest undone.")
    } else if added.understood {
        format!("You added {quote}; I do that next.")
    } else {
        format!(
            "You added {quote}. I have read it, but it is beyond the embedded demo model, so I go on as planned."
        )
    })
}

fn not_offered(call: &CallIntent, tools: &[ToolSpec]) -> String {
    let names: Vec<String> = tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
    let offered = if names.is_empty() { "no tools".to_owned() } else { format!("only {}", names.join(", ")) };
    format!("For that I would call `{}`, but this session offers {offered}.", call.tool)
}

fn think(script: &mut Script, about: &str) {
    let about = if about.is_empty() { "nothing in particular" } else { about };
    script.reason(&format!(
        "I am asked to think about {about}. First, what is known: only what stands in this conversation. Then, what \
         could be done: read the files that touch it, search for its name, run its tests. A real model would weigh \
         these; I can name them."
    ));
    script.say(&format!(
        "I thought about {about}. My advice is modest: read what there is, search for where it is used, and run the \
         tests before and after a change."
    ));
}

fn explain(greeting: bool) -> String {
    let head = if greeting { "Hello! " } else { "" };
    format!("{head}{ABOUT}")
}
