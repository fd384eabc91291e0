//! Reads command lines, so that approvals and remembered rules are decided on what a line would run and
//! never on how its text begins.
//!
//! [`parse`] finds every simple command that bash could run for a line, [`is_safe`] knows the ones that only
//! read, [`Pattern`] is a remembered rule for one command, and [`allowed`] puts them together. Where bash
//! could do something that is not seen here, [`ParsedLine::unclear`] says so and a person is asked: a doubt is
//! never resolved in favour of the line.
//!
//! The reading holds for bash without aliases, started with `-c` in an environment that the daemon has
//! built. It keeps people from being asked too often; it is no boundary. The crate does no IO: [`reads`] names
//! the places that a line reads and the programs that it starts, and the caller of [`allowed_with`] says
//! which commands keep to places that anybody may read, and whether git, which can be told to start programs,
//! counts as one that only reads.
//!
//! The grammar is our own. A library that parses bash builds the tree of a script in order to run it; here each place
//! where bash could read on in another way has to be known, so that it makes the line unclear. The tests hold the
//! reading against two others: every command that bash itself runs for a generated line must have been read, and
//! the parser of shfmt (mvdan.cc/sh) must find the same commands, words, redirects and surroundings in a clear line.

mod builtin;
mod decision;
mod describe;
mod environment;
mod expansion;
mod grammar;
mod heredoc;
mod parsed_line;
mod parser;
mod pattern;
mod read_target;
mod safe;
mod simple;
mod test_expression;
mod word;
mod word_list;
mod wrapper;

pub use decision::{DecisionContext, allowed, allowed_with, reads, suggest, suggest_with};
pub use describe::describe;
pub use parsed_line::{ParsedLine, Redirect, RedirectKind, ShellWord, SimpleCommand, WordExpansion};
pub use parser::{MAX_LINE_BYTES, parse};
pub use pattern::Pattern;
pub use read_target::{CommandReads, ReadExtent, ReadTarget, TargetSpelling};
pub use safe::is_safe;
