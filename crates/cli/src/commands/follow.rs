//! Showing a session's events in a terminal or as JSON lines, as they come.

use std::io::{IsTerminal, Write};

use ostler_client::EventLine;

use crate::config::Environment;
use crate::render::{RenderOptions, Renderer, wants_color};

/// Where events go.
pub(super) enum Screen {
    /// As JSON lines.
    Json,
    /// For people.
    Text(Box<Renderer>),
}

impl Screen {
    pub(super) fn new(json: bool, prompts: bool, approval_hints: bool, environment: &Environment) -> Screen {
        if json {
            return Screen::Json;
        }
        let color = wants_color(std::io::stdout().is_terminal(), environment);
        Screen::Text(Box::new(Renderer::new(RenderOptions { color, prompts, approval_hints })))
    }

    /// Shows one event. An error means that nobody reads any more.
    pub(super) fn show(&mut self, line: &EventLine) -> std::io::Result<()> {
        match self {
            Screen::Json if line.name == "heartbeat" => Ok(()),
            Screen::Json => print(&format!("{}\n", line.raw)),
            Screen::Text(renderer) => print(&renderer.event(&line.raw)),
        }
    }

    pub(super) fn finish(&mut self) -> std::io::Result<()> {
        match self {
            Screen::Json => Ok(()),
            Screen::Text(renderer) => print(&renderer.finish()),
        }
    }
}

fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
