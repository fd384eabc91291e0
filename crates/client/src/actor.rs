//! Names of who did something, as a person reads them.

/// The name to show for the `by` of an event. Everything that comes from this program or from the page was done by the
/// one person whose daemon it is.
pub fn actor_name(by: &str) -> &str {
    match by {
        "page" => "you (page)",
        "http" => "an HTTP client",
        _ => match by.strip_prefix("http ") {
            Some(program) if program.starts_with("ostler-cli/") => "you",
            Some(program) => program,
            None => by,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::actor_name;

    #[test]
    fn the_person_at_the_terminal_is_you() {
        let names = [
            ("http ostler-cli/0.1.0", "you"),
            ("page", "you (page)"),
            ("http curl/8.5.0", "curl/8.5.0"),
            ("http", "an HTTP client"),
            ("policy", "policy"),
        ];
        for (by, shown) in names {
            assert_eq!(actor_name(by), shown);
        }
    }
}
