//! A pseudo-terminal for one program: what it prints is read here, what is typed is written here. It
//! draws no screen; [`plain`] only takes out what a terminal would obey.

use std::io;
use std::process::Stdio;

use ostler_process::PreparedCommand;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::net::unix::pipe::{Receiver, Sender};

/// The size that programs are told.
const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// Our end of a pseudo-terminal. The runtime knows no terminals, but for reading and writing one is a pipe
/// whose end is an error.
pub(super) struct PseudoTerminal {
    /// What the program prints.
    pub(super) output: Receiver,
    /// What is typed.
    pub(super) input: Sender,
}

impl PseudoTerminal {
    /// Opens a pseudo-terminal and seats a command at its other end.
    pub(super) fn open(command: &mut PreparedCommand) -> io::Result<PseudoTerminal> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        tcsetwinsize(&ours, SIZE)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        command.stdin(Stdio::from(theirs.try_clone()?));
        command.stdout(Stdio::from(theirs.try_clone()?)).stderr(Stdio::from(theirs));
        rustix::io::ioctl_fionbio(&ours, true)?;
        let output = Receiver::from_owned_fd_unchecked(ours.try_clone()?)?;
        Ok(PseudoTerminal { output, input: Sender::from_owned_fd_unchecked(ours)? })
    }
}

/// The text of what a program printed on a terminal, without what the terminal would have obeyed.
pub(crate) fn strip_control_sequences(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => match characters.next() {
                Some('[') => while characters.next().is_some_and(|next| !('@'..='~').contains(&next)) {},
                Some(']' | 'P' | '^' | '_' | 'X') => skip_string(&mut characters),
                Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
                    characters.next();
                }
                Some(_) | None => {}
            },
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' => shown.push('\n'),
            '\n' | '\t' => shown.push(character),
            _ if character.is_control() => {}
            _ => shown.push(character),
        }
    }
    shown
}

/// Skips to the end of a string that is meant for the terminal.
fn skip_string(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(character) = characters.next() {
        match character {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' if characters.peek() == Some(&'\\') => {
                characters.next();
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::strip_control_sequences;

    #[test]
    fn what_a_terminal_obeys_is_taken_out() {
        for (printed, shown) in [
            ("a\r\nb\r\n", "a\nb\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;http://a\u{1b}\\link", "xlink"),
            ("\u{1b}(Bx\u{1b}=y\u{8}\u{7}", "xy"),
            ("10%\r20%\r", "10%\n20%\n"),
            ("\u{1b}[", ""),
            ("\u{1b}]never ends", ""),
            ("é\u{1b}", "é"),
        ] {
            assert_eq!(strip_control_sequences(printed), shown, "{printed:?}");
        }
    }
}
