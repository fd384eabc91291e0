//! Colours by what they mean, in as many of them as the terminal has. Without any, weight and slant are left.

use ratatui::style::{Color, Modifier, Style};

/// How many colours a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// None, or nobody wants them.
    None,
    /// The sixteen that the terminal's owner chose.
    Sixteen,
    /// A table of 256.
    TwoHundred,
    /// All.
    True,
}

impl Depth {
    /// What the environment says: `NO_COLOR`, `COLORTERM` and `TERM`.
    pub fn of(no_color: Option<&str>, colorterm: Option<&str>, term: Option<&str>) -> Depth {
        let term = term.unwrap_or_default();
        if no_color.is_some_and(|value| !value.is_empty()) || term == "dumb" {
            return Depth::None;
        }
        if colorterm.is_some_and(|value| matches!(value, "truecolor" | "24bit")) || term.contains("direct") {
            return Depth::True;
        }
        if term.contains("256color") { Depth::TwoHundred } else { Depth::Sixteen }
    }
}

/// What something on the screen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
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
    pub depth: Depth,
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
pub const NAMES: [&str; 4] = ["night", "day", "terminal", "plain"];

impl Theme {
    /// The theme of this name; the first one when there is none.
    pub fn new(name: &str, depth: Depth) -> Theme {
        let name = NAMES.into_iter().find(|known| *known == name).unwrap_or(NAMES[0]);
        let shade = match name {
            "day" => Shade::Light,
            "terminal" => Shade::Own,
            _ => Shade::Dark,
        };
        let depth = if name == "plain" { Depth::None } else { depth };
        Theme { name, depth, shade }
    }

    /// How something of this role is drawn.
    pub fn style(&self, role: Role) -> Style {
        let style = Style::default().add_modifier(weight(role));
        let style = if self.depth == Depth::None { style.add_modifier(mark(role)) } else { style };
        match self.color(role) {
            Some(color) => style.fg(color),
            None => style,
        }
    }

    fn color(&self, role: Role) -> Option<Color> {
        let (dark, light, own) = palette(role)?;
        match (self.depth, self.shade) {
            (Depth::None, _) => None,
            (Depth::Sixteen, _) | (_, Shade::Own) => Some(own),
            (Depth::TwoHundred, Shade::Dark) => Some(Color::Indexed(nearest(dark))),
            (Depth::TwoHundred, Shade::Light) => Some(Color::Indexed(nearest(light))),
            (Depth::True, Shade::Dark) => Some(rgb(dark)),
            (Depth::True, Shade::Light) => Some(rgb(light)),
        }
    }
}

/// The colour on dark screens, on light ones, and of the terminal's own. Plain text has the terminal's.
fn palette(role: Role) -> Option<(u32, u32, Color)> {
    Some(match role {
        Role::Text | Role::Selected => return None,
        Role::Dim => (0x008a_909c, 0x006b_7280, Color::DarkGray),
        Role::Accent => (0x007a_a2f7, 0x001d_4ed8, Color::Blue),
        Role::User => (0x007d_cfff, 0x0003_69a1, Color::Cyan),
        Role::Good | Role::Added => (0x009e_ce6a, 0x0015_803d, Color::Green),
        Role::Bad | Role::Removed => (0x00f7_768e, 0x00b9_1c1c, Color::Red),
        Role::Warn | Role::Found => (0x00e0_af68, 0x0092_5700, Color::Yellow),
        Role::Code => (0x00c0_caf5, 0x0033_4155, Color::Reset),
        Role::Keyword => (0x00bb_9af7, 0x007e_22ce, Color::Magenta),
        Role::Str => (0x009e_ce6a, 0x0015_803d, Color::Green),
        Role::Number => (0x00ff_9e64, 0x00b4_5309, Color::Yellow),
        Role::Comment => (0x007f_88a8, 0x006b_7280, Color::DarkGray),
        Role::Heading => (0x007a_a2f7, 0x001d_4ed8, Color::Blue),
        Role::Link => (0x0073_daca, 0x000f_766e, Color::Cyan),
        Role::Border => (0x0056_5f89, 0x0094_a3b8, Color::DarkGray),
    })
}

fn weight(role: Role) -> Modifier {
    match role {
        Role::Heading | Role::Accent => Modifier::BOLD,
        Role::Selected | Role::Found => Modifier::REVERSED,
        Role::Link => Modifier::UNDERLINED,
        Role::Text
        | Role::Dim
        | Role::User
        | Role::Good
        | Role::Bad
        | Role::Warn
        | Role::Code
        | Role::Keyword
        | Role::Str
        | Role::Number
        | Role::Comment
        | Role::Added
        | Role::Removed
        | Role::Border => Modifier::empty(),
    }
}

/// What stands for a colour where there is none.
fn mark(role: Role) -> Modifier {
    match role {
        Role::Dim | Role::Comment | Role::Border => Modifier::DIM,
        Role::Bad | Role::Warn | Role::User | Role::Keyword => Modifier::BOLD,
        Role::Text
        | Role::Accent
        | Role::Good
        | Role::Code
        | Role::Str
        | Role::Number
        | Role::Added
        | Role::Removed
        | Role::Heading
        | Role::Link
        | Role::Selected
        | Role::Found => Modifier::empty(),
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
    use super::{Depth, NAMES, Role, Theme};
    use ratatui::style::Color;

    #[test]
    fn the_environment_says_how_many_colours_there_are() {
        assert_eq!(Depth::of(Some("1"), Some("truecolor"), Some("xterm")), Depth::None);
        assert_eq!(Depth::of(Some(""), Some("truecolor"), Some("xterm")), Depth::True);
        assert_eq!(Depth::of(None, None, Some("xterm-256color")), Depth::TwoHundred);
        assert_eq!(Depth::of(None, None, Some("linux")), Depth::Sixteen);
        assert_eq!(Depth::of(None, Some("truecolor"), Some("dumb")), Depth::None);
    }

    #[test]
    fn a_theme_uses_no_more_colours_than_there_are() {
        for name in NAMES {
            assert_eq!(Theme::new(name, Depth::None).style(Role::Bad).fg, None, "{name}");
            let indexed = Theme::new(name, Depth::TwoHundred).style(Role::Bad).fg;
            assert!(!matches!(indexed, Some(Color::Rgb(..))), "{name}: {indexed:?}");
        }
        assert_eq!(Theme::new("plain", Depth::True).style(Role::Good).fg, None);
        assert_eq!(Theme::new("night", Depth::Sixteen).style(Role::Bad).fg, Some(Color::Red));
    }
}
