//! The table: how figures are written, and where they are kept.

use std::path::Path;

use anyhow::{Context, Result};

use crate::number::BenchNumber;

/// Between these lines of a document stands the table.
const BEGIN: &str = "<!-- table -->";
const END: &str = "<!-- /table -->";

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureRow {
    /// What was measured.
    pub figure: String,
    /// What it should be; empty for a figure that only informs.
    pub target: String,
    /// What it is.
    pub measured: String,
    /// The same for a bare client of the mock in the same run, or for another program that is named,
    /// where there is such a thing.
    pub bare: String,
    /// Whether the target was met; none when there is no target.
    pub ok: Option<bool>,
    /// The same as data, for comparing runs. What depends on the machine alone has none.
    pub numbers: Vec<BenchNumber>,
}

impl FigureRow {
    /// A figure with a target.
    pub fn new(
        figure: impl Into<String>,
        target: impl Into<String>,
        measured: impl Into<String>,
        ok: bool,
    ) -> FigureRow {
        let (figure, target, measured) = (figure.into(), target.into(), measured.into());
        FigureRow { figure, target, measured, bare: String::new(), ok: Some(ok), numbers: Vec::new() }
    }

    /// A figure without one.
    pub fn information(figure: impl Into<String>, measured: impl Into<String>) -> FigureRow {
        FigureRow { ok: None, ..FigureRow::new(figure, "", measured, true) }
    }

    /// The same with what a bare client or another program has.
    #[must_use]
    pub fn bare(self, bare: impl Into<String>) -> FigureRow {
        FigureRow { bare: bare.into(), ..self }
    }

    /// The same with a number that it holds.
    #[must_use]
    pub fn number(mut self, number: BenchNumber) -> FigureRow {
        self.numbers.push(number);
        self
    }
}

/// The rows as a table in Markdown.
pub fn table(rows: &[FigureRow]) -> String {
    let mut table =
        "| figure | target | measured | bare client, or other program | |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for FigureRow { figure, target, measured, bare, ok, numbers: _ } in rows {
        let verdict = match ok {
            Some(true) => "ok",
            Some(false) => "**missed**",
            None => "",
        };
        table += &format!("| {figure} | {target} | {measured} | {bare} | {verdict} |\n");
    }
    table
}

/// Puts a table in the place of the one in a document.
pub fn write(document: &Path, table: &str) -> Result<()> {
    let text = std::fs::read_to_string(document)?;
    let place = text.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) = place.with_context(|| format!("{} has no place for a table", document.display()))?;
    Ok(std::fs::write(document, format!("{head}{BEGIN}\n{table}{END}{tail}"))?)
}

#[cfg(test)]
mod tests {
    use super::{FigureRow, table, write};

    #[test]
    fn a_table_replaces_the_one_before() {
        let rows = [
            FigureRow::new("start", "< 60 ms", "12 ms", true).bare("1 ms"),
            FigureRow::new("memory", "< 1 MB", "2 MB", false),
            FigureRow::information("search", "3 ms"),
        ];
        let table = table(&rows);
        assert!(table.ends_with(
            "| start | < 60 ms | 12 ms | 1 ms | ok |\n\
             | memory | < 1 MB | 2 MB |  | **missed** |\n\
             | search |  | 3 ms |  |  |\n"
        ));
        let dir = tempfile::tempdir().unwrap();
        let document = dir.path().join("README.md");
        std::fs::write(&document, "before\n<!-- table -->\nold\n<!-- /table -->\nafter\n").unwrap();
        write(&document, &table).unwrap();
        write(&document, "new\n").unwrap();
        let text = std::fs::read_to_string(&document).unwrap();
        assert_eq!(text, "before\n<!-- table -->\nnew\n<!-- /table -->\nafter\n");
        std::fs::write(&document, "no place").unwrap();
        assert!(write(&document, &table).is_err());
    }
}
