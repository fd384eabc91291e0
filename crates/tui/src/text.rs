//! Text on its way to the screen: made harmless, coloured, laid out in lines. Knows no session.

pub mod diff;
pub mod highlight;
pub mod markdown;
pub mod sanitize;
pub mod wrap;
