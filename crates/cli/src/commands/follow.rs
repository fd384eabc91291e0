//! Showing a session's events in a terminal or as JSON lines, as they come.

use ostler_client::EventLine;

use super::Setting;
use crate::output::{Place, json_line, styled};
use crate::render::{RenderOptions, Renderer};

/// Where events go.
pub(super) enum Screen {
    /// As JSON lines to stdout.
    Json,
    /// For people.
    Text(Box<Renderer>, Place),
    /// Nowhere; what matters is printed at the end.
    Silent,
}

impl Screen {
    /// Everything on stdout, for people or as JSON lines.
    pub(super) fn new(json: bool, prompts: bool, approval_hints: bool, setting: &Setting) -> Screen {
        if json {
            return Screen::Json;
        }
        Screen::text(Place::Stdout, prompts, approval_hints, setting)
    }

    /// What happens on the way to an answer: on stderr if somebody sees it there.
    pub(super) fn progress(setting: &Setting) -> Screen {
        if setting.manner.quiet || !Place::Stderr.is_terminal() {
            return Screen::Silent;
        }
        Screen::text(Place::Stderr, false, false, setting)
    }

    fn text(place: Place, prompts: bool, approval_hints: bool, setting: &Setting) -> Screen {
        let color = setting.manner.color(place.is_terminal(), &setting.environment);
        Screen::Text(Box::new(Renderer::new(RenderOptions { color, prompts, approval_hints })), place)
    }

    /// Whether stdout is still free for the answer.
    pub(super) fn leaves_stdout(&self) -> bool {
        matches!(self, Screen::Silent | Screen::Text(_, Place::Stderr))
    }

    /// Whether a person sees what goes wrong, when it does.
    pub(super) fn is_for_people(&self) -> bool {
        matches!(self, Screen::Text(..))
    }

    /// Shows one event. An error means that nobody reads any more.
    pub(super) fn show(&mut self, line: &EventLine) -> std::io::Result<()> {
        match self {
            Screen::Json if line.name == "heartbeat" => Ok(()),
            Screen::Json => json_line(&line.raw),
            Screen::Text(renderer, place) => styled(*place, &renderer.event(&line.raw)),
            Screen::Silent => Ok(()),
        }
    }

    /// Ends the line that was begun.
    pub(super) fn finish(&mut self) -> std::io::Result<()> {
        match self {
            Screen::Json | Screen::Silent => Ok(()),
            Screen::Text(renderer, place) => styled(*place, &renderer.finish()),
        }
    }
}
