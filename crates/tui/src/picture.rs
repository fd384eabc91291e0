//! Pictures by the terminal's own protocol. In the transcript a picture is a block of letters of a private kind, each of
//! which says which picture it belongs to, which row and which column. Kitty draws the picture in their place by
//! itself, so it scrolls, is cut and is covered like text. For the other protocols the block is looked for on the screen
//! when all is drawn, and the picture is put over it where it is whole.

mod png;
mod sixel;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

/// How a terminal takes pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PictureProtocol {
    /// Not at all, or nobody knows.
    #[default]
    None,
    /// As kitty and ghostty do.
    Kitty,
    /// As iTerm2 and WezTerm do.
    Iterm,
    /// As sixels, which many others understand.
    Sixel,
}

impl PictureProtocol {
    /// What the environment says, and whoever chose with `OSTLER_IMAGES`.
    pub fn from_environment<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> PictureProtocol {
        match variable("OSTLER_IMAGES") {
            Some("kitty") => return PictureProtocol::Kitty,
            Some("iterm") => return PictureProtocol::Iterm,
            Some("sixel") => return PictureProtocol::Sixel,
            Some("none") => return PictureProtocol::None,
            Some(_) | None => {}
        }
        // What runs within another program talks to that one, which passes nothing on unasked.
        if variable("TMUX").is_some() || variable("STY").is_some() {
            return PictureProtocol::None;
        }
        let term = variable("TERM").unwrap_or_default();
        let program = variable("TERM_PROGRAM").or_else(|| variable("LC_TERMINAL")).unwrap_or_default();
        let is_kitty =
            variable("KITTY_WINDOW_ID").is_some() || term.contains("kitty") || term.contains("ghostty");
        match program {
            _ if is_kitty => PictureProtocol::Kitty,
            "ghostty" => PictureProtocol::Kitty,
            "iTerm.app" | "iTerm2" | "WezTerm" | "mintty" | "rio" => PictureProtocol::Iterm,
            _ if ["foot", "mlterm", "contour", "yaft"].iter().any(|name| term.starts_with(name)) => {
                PictureProtocol::Sixel
            }
            _ => PictureProtocol::None,
        }
    }

    /// Whether it takes a picture that begins with these bytes.
    pub fn accepts(self, bytes: &[u8]) -> bool {
        let is_png = bytes.starts_with(b"\x89PNG\r\n\x1a\n");
        match self {
            PictureProtocol::None => false,
            PictureProtocol::Kitty | PictureProtocol::Sixel => is_png,
            PictureProtocol::Iterm => is_png || bytes.starts_with(b"\xff\xd8") || bytes.starts_with(b"GIF8"),
        }
    }
}

/// A picture that can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownPicture {
    /// Its number; 24 bits.
    pub number: u32,
    /// How many columns it takes.
    pub columns: u16,
    /// How many rows it takes.
    pub rows: u16,
}

/// Where a picture stands on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedPicture {
    /// Its number.
    pub number: u32,
    /// Its cells.
    pub area: Rect,
}

/// How large a picture may be, in cells.
const MAX_COLUMNS: u16 = 60;
const MAX_ROWS: u16 = 16;
/// The letter that a picture is made of.
const PLACEHOLDER: char = '\u{10eeee}';
/// How much of a picture goes into one sequence, in base64.
const CHUNK: usize = 4096;

/// The numbers from 0 as marks on that letter; the protocol's table.
const DIACRITICS: [u32; 64] = [
    0x0305, 0x030d, 0x030e, 0x0310, 0x0312, 0x033d, 0x033e, 0x033f, 0x0346, 0x034a, 0x034b, 0x034c, 0x0350,
    0x0351, 0x0352, 0x0357, 0x035b, 0x0363, 0x0364, 0x0365, 0x0366, 0x0367, 0x0368, 0x0369, 0x036a, 0x036b,
    0x036c, 0x036d, 0x036e, 0x036f, 0x0483, 0x0484, 0x0485, 0x0486, 0x0487, 0x0592, 0x0593, 0x0594, 0x0595,
    0x0597, 0x0598, 0x0599, 0x059c, 0x059d, 0x059e, 0x059f, 0x05a0, 0x05a1, 0x05a8, 0x05a9, 0x05ab, 0x05ac,
    0x05af, 0x05c4, 0x0610, 0x0611, 0x0612, 0x0613, 0x0614, 0x0615, 0x0616, 0x0617, 0x0657, 0x0658,
];

/// How many columns and rows a picture of so many pixels takes, where a cell has so many and the screen so many columns.
pub fn fit_to_cells(pixels: (usize, usize), cell: (u16, u16), columns: u16) -> (u16, u16) {
    let (width, height) = (pixels.0.max(1) as f64, pixels.1.max(1) as f64);
    let (cell_width, cell_height) = (f64::from(cell.0.max(1)), f64::from(cell.1.max(1)));
    let room = (f64::from(columns.clamp(4, MAX_COLUMNS)) * cell_width, f64::from(MAX_ROWS) * cell_height);
    // A small picture is not made larger.
    let scale = (room.0 / width).min(room.1 / height).min(1.0);
    let cells = |pixels: f64, cell: f64, most: u16| ((pixels * scale / cell).ceil() as u16).clamp(1, most);
    (cells(width, cell_width, MAX_COLUMNS), cells(height, cell_height, MAX_ROWS))
}

/// A picture as lines of its letters.
pub fn picture_lines(shown: ShownPicture) -> Vec<Line<'static>> {
    let [_, red, green, blue] = shown.number.to_be_bytes();
    let style = Style::default().fg(Color::Rgb(red, green, blue));
    let row = |row: u16| {
        let letters: String =
            (0..shown.columns).flat_map(|column| [PLACEHOLDER, diacritic(row), diacritic(column)]).collect();
        Line::from(vec![Span::raw("  "), Span::styled(letters, style)])
    };
    (0..shown.rows).map(row).collect()
}

/// Takes the letters of pictures off a screen, and says where those stand that are there whole.
#[expect(clippy::wildcard_enum_match_arm, reason = "any other colour is none of ours")]
pub fn take_placed(buffer: &mut Buffer, shown: impl Fn(u32) -> Option<ShownPicture>) -> Vec<PlacedPicture> {
    let area = buffer.area;
    let mut found: Vec<(PlacedPicture, usize)> = Vec::new();
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            let cell = &mut buffer[(x, y)];
            let mut letters = cell.symbol().chars();
            if letters.next() != Some(PLACEHOLDER) {
                continue;
            }
            let first = letters.eq([diacritic(0), diacritic(0)]);
            let number = match cell.fg {
                Color::Rgb(red, green, blue) => u32::from_be_bytes([0, red, green, blue]),
                _ => 0,
            };
            cell.reset();
            match (found.iter_mut().rev().find(|(placed, _)| placed.number == number), shown(number)) {
                (None, Some(shown)) | (Some(_), Some(shown)) if first => {
                    let area = Rect { x, y, width: shown.columns, height: shown.rows };
                    found.push((PlacedPicture { number, area }, 1));
                }
                (Some((_, count)), _) => *count += 1,
                (None, _) => {}
            }
        }
    }
    let whole = |(placed, count): &(PlacedPicture, usize)| {
        *count == usize::from(placed.area.width) * usize::from(placed.area.height)
    };
    found.into_iter().filter(whole).map(|(placed, _)| placed).collect()
}

/// What tells kitty of a picture: its bytes, which are a PNG, and how large it is to be.
pub fn to_kitty(shown: ShownPicture, png: &[u8]) -> Vec<u8> {
    let ShownPicture { number, columns, rows } = shown;
    let encoded = STANDARD.encode(png);
    let mut out = Vec::with_capacity(encoded.len() + encoded.len() / 64);
    let mut rest = encoded.as_str();
    let mut keys = format!("a=t,f=100,i={number},q=2,");
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.len().min(CHUNK));
        let more = u8::from(!after.is_empty());
        out.extend_from_slice(format!("\x1b_G{keys}m={more};{chunk}\x1b\\").as_bytes());
        (rest, keys) = (after, "q=2,".to_owned());
    }
    out.extend_from_slice(format!("\x1b_Ga=p,U=1,i={number},c={columns},r={rows},q=2\x1b\\").as_bytes());
    out
}

/// What makes kitty forget a picture.
pub fn forget_kitty(number: u32) -> Vec<u8> {
    format!("\x1b_Ga=d,d=I,i={number},q=2\x1b\\").into_bytes()
}

/// What draws a picture at the cursor; none when it cannot be read.
pub fn draw_at_cursor(
    protocol: PictureProtocol,
    shown: ShownPicture,
    cell: (u16, u16),
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let ShownPicture { columns, rows, .. } = shown;
    match protocol {
        PictureProtocol::None | PictureProtocol::Kitty => None,
        PictureProtocol::Iterm => {
            let encoded = STANDARD.encode(bytes);
            let size = bytes.len();
            let keys = format!(
                "inline=1;size={size};width={columns};height={rows};preserveAspectRatio=1;doNotMoveCursor=1"
            );
            Some(format!("\x1b]1337;File={keys}:{encoded}\x07").into_bytes())
        }
        PictureProtocol::Sixel => {
            let most = (usize::from(columns) * usize::from(cell.0), usize::from(rows) * usize::from(cell.1));
            sixel::from_png(bytes, most)
        }
    }
}

fn diacritic(number: u16) -> char {
    DIACRITICS.get(usize::from(number)).copied().and_then(char::from_u32).unwrap_or('\u{0305}')
}

#[cfg(test)]
mod tests {
    use super::{PictureProtocol, ShownPicture, fit_to_cells, picture_lines, take_placed, to_kitty};
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    fn protocol(variables: &[(&str, &'static str)]) -> PictureProtocol {
        PictureProtocol::from_environment(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
        })
    }

    #[test]
    fn the_environment_says_which_protocol_there_is() {
        assert_eq!(protocol(&[("TERM", "xterm-kitty")]), PictureProtocol::Kitty);
        assert_eq!(
            protocol(&[("TERM", "xterm-ghostty"), ("TERM_PROGRAM", "ghostty")]),
            PictureProtocol::Kitty
        );
        assert_eq!(
            protocol(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")]),
            PictureProtocol::Iterm
        );
        assert_eq!(protocol(&[("TERM", "foot")]), PictureProtocol::Sixel);
        assert_eq!(protocol(&[("TERM", "xterm-256color")]), PictureProtocol::None);
        assert_eq!(
            protocol(&[("TERM", "tmux"), ("TMUX", "x"), ("KITTY_WINDOW_ID", "1")]),
            PictureProtocol::None
        );
        assert_eq!(protocol(&[("TMUX", "x"), ("OSTLER_IMAGES", "sixel")]), PictureProtocol::Sixel);
    }

    #[test]
    fn a_picture_keeps_its_shape_and_is_never_made_larger() {
        assert_eq!(fit_to_cells((80, 16), (8, 16), 100), (10, 1));
        assert_eq!(fit_to_cells((1600, 1600), (8, 16), 100), (32, 16));
        assert_eq!(fit_to_cells((4000, 100), (8, 16), 30), (30, 1));
        assert_eq!(fit_to_cells((0, 0), (0, 0), 0), (1, 1));
    }

    #[test]
    fn kitty_is_given_a_picture_in_pieces_and_told_its_size() {
        let shown = ShownPicture { number: 7, columns: 3, rows: 2 };
        let told = String::from_utf8(to_kitty(shown, &[0; 5000])).unwrap();
        let pieces: Vec<&str> = told.split_terminator("\x1b\\").collect();
        assert!(pieces[0].starts_with("\x1b_Ga=t,f=100,i=7,q=2,m=1;"));
        assert!(pieces[1].starts_with("\x1b_Gq=2,m=0;"));
        assert_eq!(pieces[2], "\x1b_Ga=p,U=1,i=7,c=3,r=2,q=2");
        assert!(pieces.iter().all(|piece| piece.len() < 4200));
    }

    #[test]
    fn a_picture_is_placed_where_it_is_whole_and_leaves_no_letters() {
        let shown = ShownPicture { number: 0x0001_0203, columns: 3, rows: 2 };
        let area = Rect::new(0, 0, 10, 4);
        let mut buffer = Buffer::empty(area);
        for (row, line) in (1..).zip(picture_lines(shown)) {
            buffer.set_line(1, row, &line, 9);
        }
        let covered = {
            let mut buffer = buffer.clone();
            buffer[(4, 1)].set_symbol("x");
            take_placed(&mut buffer, |_| Some(shown))
        };
        assert_eq!(covered, [], "something lies over it");
        let placed = take_placed(&mut buffer, |_| Some(shown));
        assert_eq!((placed.len(), placed[0].area), (1, Rect::new(3, 1, 3, 2)));
        assert_eq!(buffer, Buffer::empty(area));
    }
}
