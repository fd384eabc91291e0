//! Colours, or none.

/// What a piece of text is, as far as its looks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Dim,
    Prompt,
    Tool,
    Question,
    Good,
    Warning,
    Bad,
}

/// Whether there are colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    color: bool,
}

impl Style {
    pub(super) fn new(color: bool) -> Style {
        Style { color }
    }

    /// Adds text in its colour. The colour ends with the text, so that a program that is stopped
    /// leaves the terminal as it was.
    pub(super) fn push(self, paint: Paint, text: &str, out: &mut String) {
        let code = match paint {
            Paint::Plain => "",
            Paint::Dim => "2",
            Paint::Prompt => "1",
            Paint::Tool => "36",
            Paint::Question => "1;33",
            Paint::Good => "32",
            Paint::Warning => "33",
            Paint::Bad => "31",
        };
        if !self.color || code.is_empty() {
            out.push_str(text);
            return;
        }
        out.push_str("\x1b[");
        out.push_str(code);
        out.push('m');
        out.push_str(text);
        out.push_str("\x1b[0m");
    }
}
