//! Changes the user's configuration file by hand, as it were: a section is added at the end or taken out, and every other
//! line stays as it is. What comes of it is read again before it is written, so that a file in an unusual form is
//! refused rather than spoiled.

use std::path::Path;

use anyhow::{Context, anyhow};
use ostler_config::{Config, McpSection, check_server, parse_unchecked};
use ostler_workspace_fs::{ReplaceOptions, replace_file};

/// What to tell of a file that cannot be changed safely.
const UNSAFE_EDIT_HINT: &str = "it is written in a way that cannot be changed safely here; change it by hand";

/// The text with a server's section at its end, in place of one that it has.
pub(crate) fn with_server(
    path: &Path,
    text: &str,
    name: &str,
    server: &McpSection,
) -> anyhow::Result<String> {
    check_server(name, server).map_err(|(_, why)| anyhow!("the server `{name}` cannot be added: {why}"))?;
    let mut wanted = parse_unchecked(path, text)?;
    let mut changed =
        if wanted.mcp.contains_key(name) { without_section(text, name) } else { text.to_owned() };
    if !changed.is_empty() && !changed.ends_with('\n') {
        changed.push('\n');
    }
    if !changed.trim().is_empty() && !changed.ends_with("\n\n") {
        changed.push('\n');
    }
    changed.push_str(&format!("[mcp.{name}]\n{}", toml::to_string(server)?));
    wanted.mcp.insert(name.to_owned(), server.clone());
    verify_edit(path, &changed, &wanted)
}

/// The text without a server's section; nothing when it has none.
pub(crate) fn without_server(path: &Path, text: &str, name: &str) -> anyhow::Result<Option<String>> {
    let mut wanted = parse_unchecked(path, text)?;
    if wanted.mcp.remove(name).is_none() {
        return Ok(None);
    }
    verify_edit(path, &without_section(text, name), &wanted).map(Some)
}

/// Puts a text in place of a file, in one step. A link stays a link, and rights stay as they are.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("{} cannot be written", path.display());
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = real.parent().with_context(failed)?;
    std::fs::create_dir_all(directory).with_context(failed)?;
    replace_file(&real, text.as_bytes(), ReplaceOptions::USER_FILE).with_context(failed)
}

/// Passes a text on that says what it should.
fn verify_edit(path: &Path, text: &str, wanted: &Config) -> anyhow::Result<String> {
    let says = parse_unchecked(path, text).is_ok_and(|config| config == *wanted);
    anyhow::ensure!(says, "{}: {UNSAFE_EDIT_HINT}", path.display());
    Ok(text.to_owned())
}

/// The text without the lines of a server's tables. Comments before and after them stay.
fn without_section(text: &str, name: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut cut: Vec<&str> = Vec::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        if let Some(table) = table_of(line) {
            inside = table.first().is_some_and(|first| first == "mcp")
                && table.get(1).is_some_and(|it| it == name);
            if !inside {
                keep_comments(&mut kept, &mut cut);
            }
        }
        if inside { cut.push(line) } else { kept.push(line) }
    }
    if inside {
        keep_comments(&mut kept, &mut cut);
    }
    kept.concat()
}

/// What stands between the last value of a table and the next table belongs to that one.
fn keep_comments<'a>(kept: &mut Vec<&'a str>, cut: &mut Vec<&'a str>) {
    let is_filler = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let values = cut.iter().rposition(|line| !is_filler(line)).map_or(0, |last| last + 1);
    let had_lines = !cut.is_empty();
    let mut fillers = cut.split_off(values).into_iter().peekable();
    cut.clear();
    // One empty line between what is left is enough.
    if had_lines && kept.last().is_none_or(|line| line.trim().is_empty()) {
        while fillers.next_if(|line| line.trim().is_empty()).is_some() {}
    }
    kept.extend(fillers);
}

/// The table that a line opens, as the names on the way to it.
fn table_of(line: &str) -> Option<Vec<String>> {
    if !line.trim_start().starts_with('[') {
        return None;
    }
    let mut table: toml::Table = toml::from_str(line).ok()?;
    let mut names = Vec::new();
    while let Some((name, value)) = table.into_iter().next() {
        names.push(name);
        match value {
            toml::Value::Table(inner) => table = inner,
            _ => break,
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ostler_config::McpSection;

    use super::{with_server, without_server};

    fn server(program: &str) -> McpSection {
        McpSection { command: vec![program.to_owned(), "a \"b\"".to_owned()], ..McpSection::default() }
    }

    const FILE: &str = "# Mine.\n\n[models]\ndefault = \"demo:demo\" # for now\n\n# It tells the time.\n[mcp.time]\n\
                        command = [\n  \"uvx\", # from PyPI\n  \"mcp-server-time\",\n]\n\n[mcp.time.env]\nTZ = \"UTC\"\n\n\
                        # The door.\n[server]\nauth = \"on\"\n";

    #[test]
    fn a_section_is_added_and_the_rest_stays() {
        let path = Path::new("config.toml");
        let text = with_server(path, FILE, "docs", &server("docs")).unwrap();
        assert_eq!(text, format!("{FILE}\n[mcp.docs]\ncommand = [\"docs\", 'a \"b\"']\n"));
        assert_eq!(
            without_server(path, &text, "docs").unwrap().as_deref(),
            Some(FILE.to_owned() + "\n").as_deref()
        );
        let first = with_server(path, "", "docs", &server("docs")).unwrap();
        assert_eq!(first, "[mcp.docs]\ncommand = [\"docs\", 'a \"b\"']\n");
        let unended = with_server(path, "[web]\nfetch = true", "docs", &server("docs")).unwrap();
        assert!(unended.starts_with("[web]\nfetch = true\n\n[mcp.docs]\n"), "{unended}");
    }

    #[test]
    fn a_section_is_taken_out_with_its_tables_and_no_comment_is_lost() {
        let path = Path::new("config.toml");
        let text = without_server(path, FILE, "time").unwrap().unwrap();
        assert_eq!(
            text,
            "# Mine.\n\n[models]\ndefault = \"demo:demo\" # for now\n\n# It tells the time.\n\n# The door.\n[server]\nauth = \"on\"\n"
        );
        assert_eq!(without_server(path, FILE, "other").unwrap(), None);
        let replaced = with_server(path, FILE, "time", &server("clock")).unwrap();
        assert!(replaced.ends_with("[mcp.time]\ncommand = [\"clock\", 'a \"b\"']\n"), "{replaced}");
        assert!(!replaced.contains("uvx") && replaced.contains("# for now"), "{replaced}");
    }

    #[test]
    fn what_cannot_be_changed_safely_is_refused() {
        let path = Path::new("config.toml");
        for text in [
            "mcp = { time = { command = [\"x\"] } }\n",
            "[mcp]\ntime = { command = [\"x\"] }\n",
            "mcp.time.command = [\"x\"]\n",
            "[models]\nprefer = [\"a:b\"]\n[mcp]\ntime.command = [\"x\"]\n",
        ] {
            let error = without_server(path, text, "time").unwrap_err().to_string();
            assert!(error.contains("by hand"), "{text}: {error}");
        }
        assert!(with_server(path, "", "bad name", &server("x")).is_err());
        assert!(with_server(path, "", "none", &McpSection::default()).is_err());
        assert!(with_server(path, "not toml", "x", &server("x")).is_err());
    }
}
