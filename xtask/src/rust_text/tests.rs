//! Small sources that would fool a scanner that does not know strings, comments and lifetimes.

use super::{functions, scan, snake_case, variants};

fn lengths(text: &str) -> Vec<(String, usize, usize)> {
    functions(&scan(text).code).into_iter().map(|f| (f.name, f.line, f.lines)).collect()
}

#[test]
fn strings_characters_and_comments_are_not_code() {
    for hidden in [
        "// {",
        "/* { /* { */ { */",
        "\"{\"",
        "\"\\\"{\"",
        "b\"{\"",
        "r\"{\\\"",
        "r#\"\"{\"#",
        "br##\"\"#{\"##",
        "'{'",
        "b'{'",
        "'\\''",
        "'\\u{7b}'",
    ] {
        let code = scan(hidden).code;
        assert!(!code.contains('{'), "{hidden} left {code}");
    }
}

#[test]
fn code_beside_them_stays() {
    for (text, wanted) in [
        ("fn f<'a>(x: &'a str) { 'b: loop {} }", "fn f<'a>(x: &'a str) { 'b: loop {} }"),
        ("a/b", "a/b"),
        ("let r#fn = var\"\";", "let r#fn = var  ;"),
        ("x('\"', y)", "x(   , y)"),
        ("\"a\" + b // c", "    + b     "),
        ("'a', 'b'", "   ,    "),
    ] {
        assert_eq!(scan(text).code, wanted);
    }
}

#[test]
fn functions_are_measured_from_fn_to_closing_brace() {
    let text = "impl A {\n    fn one() {\n        \"}\";\n    }\n\n    fn two<const N: usize>(x: [u8; 4]) -> u8\n    where\n        u8: B,\n    {\n        fn inner() { }\n        1\n    }\n}\n";
    let wanted = [("one", 2, 3), ("two", 6, 7), ("inner", 10, 1)];
    assert_eq!(lengths(text), wanted.map(|(name, line, lines)| (name.to_owned(), line, lines)));
}

#[test]
fn what_has_no_body_is_not_a_function() {
    assert_eq!(
        lengths(
            "trait T { fn f(&self) -> [u8; 2]; }\ntype F = fn(u8) -> u8;\nmacro_rules! m { () => { fn $n() {} } }"
        ),
        []
    );
}

#[test]
fn variants_are_read_past_attributes_fields_and_comments() {
    let text = "enum Other { No }\n/// Docs, Commas\n#[derive(Debug, Clone)]\npub enum Event {\n    /// One, two.\n    #[serde(rename = \"x\", default)]\n    First { a: Vec<(u8, u8)>, b: B },\n    Second(C, D),\n    ThirdOne,\n}\nenum After { No }\n";
    assert_eq!(variants(&scan(text).code, "Event"), ["First", "Second", "ThirdOne"]);
    assert!(variants(&scan(text).code, "Missing").is_empty());
    assert_eq!(snake_case("ThirdOne"), "third_one");
}

#[test]
fn lines_that_are_only_comment_are_counted() {
    let text = "//! head\n\nfn f() {} // beside\n/* two\n   lines */\n    /// doc\nlet s = \"\n// inside a string\n\";\n";
    assert_eq!(scan(text).comment_lines, 4);
}
