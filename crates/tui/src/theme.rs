//! Colours by what they mean, in as many of them as the terminal has. Without any, weight and slant are left.

use ratatui::style::{Color, Modifier, Style};

/// How many colours a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorDepth {
    /// None, or nobody wants them.
    None,
    /// The sixteen that the terminal's owner chose.
    Sixteen,
    /// A table of 256.
    TwoHundred,
    /// All.
    True,
}

impl ColorDepth {
    /// What the environment says: `NO_COLOR`, `COLORTERM` and `TERM`.
    pub fn from_environment(
        no_color: Option<&str>,
        colorterm: Option<&str>,
        term: Option<&str>,
    ) -> ColorDepth {
        let term = term.unwrap_or_default();
        if no_color.is_some_and(|value| !value.is_empty()) || term == "dumb" {
            return ColorDepth::None;
        }
        if colorterm.is_some_and(|value| matches!(value, "truecolor" | "24bit")) || term.contains("direct") {
            return ColorDepth::True;
        }
        if term.contains("256color") { ColorDepth::TwoHundred } else { ColorDepth::Sixteen }
    }
}

/// What something on the screen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StyleRole {
    /// What is said.
    Text,
    /// What matters less.
    Dim,
    /// What catches the eye.
    Accent,
    /// What the person said.
    User,
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// It needs attention.
    Warn,
    /// Code.
    Code,
    /// A word of the language.
    Keyword,
    /// A text in code.
    Str,
    /// A number in code.
    Number,
    /// A comment in code.
    Comment,
    /// A line that was added.
    Added,
    /// A line that was removed.
    Removed,
    /// A heading.
    Heading,
    /// Something that can be followed.
    Link,
    /// Lines around things.
    Border,
    /// What is chosen in a list.
    Selected,
    /// A place that was searched for.
    Found,
}

/// A set of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// What it is called.
    pub name: &'static str,
    /// How many colours it may use.
    pub depth: ColorDepth,
    shade: Shade,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shade {
    Dark,
    Light,
    /// The terminal's own sixteen, however many there are.
    Own,
}

/// The themes that there are: for dark screens, for light ones, the terminal's own colours, and none.
pub const THEME_NAMES: [&str; 4] = ["night", "day", "terminal", "plain"];

impl Theme {
    /// The theme of this name; the first one when there is none.
    pub fn new(name: &str, depth: ColorDepth) -> Theme {
        let name = THEME_NAMES.into_iter().find(|known| *known == name).unwrap_or(THEME_NAMES[0]);
        let shade = match name {
            "day" => Shade::Light,
            "terminal" => Shade::Own,
            _ => Shade::Dark,
        };
        let depth = if name == "plain" { ColorDepth::None } else { depth };
        Theme { name, depth, shade }
    }

    /// How something of this role is drawn.
    pub fn style(&self, role: StyleRole) -> Style {
        let style = Style::default().add_modifier(weight(role));
        let style = if self.depth == ColorDepth::None { style.add_modifier(mark(role)) } else { style };
        match self.color(role) {
            Some(color) => style.fg(color),
            None => style,
        }
    }

    fn color(&self, role: StyleRole) -> Option<Color> {
        let (dark, light, own) = palette(role)?;
        match (self.depth, self.shade) {
            (ColorDepth::None, _) => None,
            (ColorDepth::Sixteen, _) | (_, Shade::Own) => Some(own),
            (ColorDepth::TwoHundred, Shade::Dark) => Some(Color::Indexed(nearest(dark))),
            (ColorDepth::TwoHundred, Shade::Light) => Some(Color::Indexed(nearest(light))),
            (ColorDepth::True, Shade::Dark) => Some(rgb(dark)),
            (ColorDepth::True, Shade::Light) => Some(rgb(light)),
        }
    }
}

/// The colour on dark screens, on light ones, and of the terminal's own. Plain text has the terminal's.
fn palette(role: StyleRole) -> Option<(u32, u32, Color)> {
    Some(match role {
        StyleRole::Text | StyleRole::Selected => return None,
        StyleRole::Dim => (0x008a_909c, 0x006b_7280, Color::DarkGray),
        StyleRole::Accent => (0x007a_a2f7, 0x001d_4ed8, Color::Blue),
        StyleRole::User => (0x007d_cfff, 0x0003_69a1, Color::Cyan),
        StyleRole::Good | StyleRole::Added => (0x009e_ce6a, 0x0015_803d, Color::Green),
        StyleRole::Bad | StyleRole::Removed => (0x00f7_768e, 0x00b9_1c1c, Color::Red),
        StyleRole::Warn | StyleRole::Found => (0x00e0_af68, 0x0092_5700, Color::Yellow),
        StyleRole::Code => (0x00c0_caf5, 0x0033_4155, Color::Reset),
        StyleRole::Keyword => (0x00bb_9af7, 0x007e_22ce, Color::Magenta),
        StyleRole::Str => (0x009e_ce6a, 0x0015_803d, Color::Green),
        StyleRole::Number => (0x00ff_9e64, 0x00b4_5309, Color::Yellow),
        StyleRole::Comment => (0x007f_88a8, 0x006b_7280, Color::DarkGray),
        StyleRole::Heading => (0x007a_a2f7, 0x001d_4ed8, Color::Blue),
        StyleRole::Link => (0x0073_daca, 0x000f_766e, Color::Cyan),
        StyleRole::Border => (0x0056_5f89, 0x0094_a3b8, Color::DarkGray),
    })
}

fn weight(role: StyleRole) -> Modifier {
    match role {
        StyleRole::Heading | StyleRole::Accent => Modifier::BOLD,
        StyleRole::Selected | StyleRole::Found => Modifier::REVERSED,
        StyleRole::Link => Modifier::UNDERLINED,
        StyleRole::Text
        | StyleRole::Dim
        | StyleRole::User
        | StyleRole::Good
        | StyleRole::Bad
        | StyleRole::Warn
        | StyleRole::Code
        | StyleRole::Keyword
        | StyleRole::Str
        | StyleRole::Number
        | StyleRole::Comment
        | StyleRole::Added
        | StyleRole::Removed
        | StyleRole::Border => Modifier::empty(),
    }
}

/// What stands for a colour where there is none.
fn mark(role: StyleRole) -> Modifier {
    match role {
        StyleRole::Dim | StyleRole::Comment | StyleRole::Border => Modifier::DIM,
        StyleRole::Bad | StyleRole::Warn | StyleRole::User | StyleRole::Keyword => Modifier::BOLD,
        StyleRole::Text
        | StyleRole::Accent
        | StyleRole::Good
        | StyleRole::Code
        | StyleRole::Str
        | StyleRole::Number
        | StyleRole::Added
        | StyleRole::Removed
        | StyleRole::Heading
        | StyleRole::Link
        | StyleRole::Selected
        | StyleRole::Found => Modifier::empty(),
    }
}

fn rgb(color: u32) -> Color {
    let [_, red, green, blue] = color.to_be_bytes();
    Color::Rgb(red, green, blue)
}

/// The nearest colour of the table's cube.
fn nearest(color: u32) -> u8 {
    let [_, red, green, blue] = color.to_be_bytes();
    let step = |value: u8| if value < 48 { 0 } else { (value.saturating_sub(35)) / 40 };
    16 + 36 * step(red) + 6 * step(green) + step(blue)
}

#[cfg(test)]
mod tests {
    use super::{ColorDepth, StyleRole, THEME_NAMES, Theme};
    use ratatui::style::Color;

    #[test]
    fn the_environment_says_how_many_colours_there_are() {
        assert_eq!(
            ColorDepth::from_environment(Some("1"), Some("truecolor"), Some("xterm")),
            ColorDepth::None
        );
        assert_eq!(
            ColorDepth::from_environment(Some(""), Some("truecolor"), Some("xterm")),
            ColorDepth::True
        );
        assert_eq!(ColorDepth::from_environment(None, None, Some("xterm-256color")), ColorDepth::TwoHundred);
        assert_eq!(ColorDepth::from_environment(None, None, Some("linux")), ColorDepth::Sixteen);
        assert_eq!(ColorDepth::from_environment(None, Some("truecolor"), Some("dumb")), ColorDepth::None);
    }

    #[test]
    fn a_theme_uses_no_more_colours_than_there_are() {
        for name in THEME_NAMES {
            assert_eq!(Theme::new(name, ColorDepth::None).style(StyleRole::Bad).fg, None, "{name}");
            let indexed = Theme::new(name, ColorDepth::TwoHundred).style(StyleRole::Bad).fg;
            assert!(!matches!(indexed, Some(Color::Rgb(..))), "{name}: {indexed:?}");
        }
        assert_eq!(Theme::new("plain", ColorDepth::True).style(StyleRole::Good).fg, None);
        assert_eq!(Theme::new("night", ColorDepth::Sixteen).style(StyleRole::Bad).fg, Some(Color::Red));
    }
}
