//! Showing a session's events in a terminal or as JSON lines, as they come.

use ostler_client::EventLine;

use super::CommandContext;
use crate::output::{OutputStream, json_line, styled};
use crate::render::{RenderOptions, Renderer};

/// Where events go.
pub(super) enum EventOutput {
    /// As JSON lines to stdout.
    Json,
    /// For people.
    Text(Box<Renderer>, OutputStream),
    /// Nowhere; what matters is printed at the end.
    Silent,
}

impl EventOutput {
    /// Everything on stdout, for people or as JSON lines.
    pub(super) fn new(
        json: bool,
        prompts: bool,
        approval_hints: bool,
        setting: &CommandContext,
    ) -> EventOutput {
        if json {
            return EventOutput::Json;
        }
        EventOutput::text(OutputStream::Stdout, prompts, approval_hints, setting)
    }

    /// What happens on the way to an answer: on stderr if somebody sees it there.
    pub(super) fn progress(setting: &CommandContext) -> EventOutput {
        if setting.output_manner.quiet || !OutputStream::Stderr.is_terminal() {
            return EventOutput::Silent;
        }
        EventOutput::text(OutputStream::Stderr, false, false, setting)
    }

    fn text(
        place: OutputStream,
        prompts: bool,
        approval_hints: bool,
        setting: &CommandContext,
    ) -> EventOutput {
        let color = setting.output_manner.color(place.is_terminal(), &setting.environment);
        EventOutput::Text(Box::new(Renderer::new(RenderOptions { color, prompts, approval_hints })), place)
    }

    /// Whether stdout is still free for the answer.
    pub(super) fn leaves_stdout(&self) -> bool {
        matches!(self, EventOutput::Silent | EventOutput::Text(_, OutputStream::Stderr))
    }

    /// Whether a person sees what goes wrong, when it does.
    pub(super) fn is_for_people(&self) -> bool {
        matches!(self, EventOutput::Text(..))
    }

    /// Shows one event. An error means that nobody reads any more.
    pub(super) fn show(&mut self, line: &EventLine) -> std::io::Result<()> {
        match self {
            EventOutput::Json if line.name == "heartbeat" => Ok(()),
            EventOutput::Json => json_line(&line.raw),
            EventOutput::Text(renderer, place) => styled(*place, &renderer.event(&line.raw)),
            EventOutput::Silent => Ok(()),
        }
    }

    /// Ends the line that was begun.
    pub(super) fn finish(&mut self) -> std::io::Result<()> {
        match self {
            EventOutput::Json | EventOutput::Silent => Ok(()),
            EventOutput::Text(renderer, place) => styled(*place, &renderer.finish()),
        }
    }
}
