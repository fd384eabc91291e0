//! What ranks high: what others refer to, and what the focus names.

use ostler_repo_map::{RenderedMap, SourceLanguage, SymbolIndex, Tags};

use crate::tags;

fn index(files: &[(&str, &str)]) -> SymbolIndex {
    SymbolIndex::build(files.iter().map(|(path, source)| {
        let language = SourceLanguage::from_path(path.as_ref()).unwrap();
        ((*path).to_owned(), tags(language, source))
    }))
}

const SHOP: &[(&str, &str)] = &[
    ("a/unused.rs", "pub fn nobody_calls_this() {}\n"),
    ("b/basket.rs", "pub struct Basket;\nimpl Basket {\n    pub fn total_price(&self) -> u32 { 0 }\n}\n"),
    ("c/till.rs", "fn pay(basket: &Basket) { basket.total_price(); }\n"),
    ("d/report.rs", "fn print_report(basket: &Basket) { basket.total_price(); }\n"),
    ("e/other.py", "class Basket: pass\ndef total_price(): pass\n"),
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn first_line(map: &RenderedMap) -> &str {
    map.text.lines().next().unwrap_or_default()
}

#[test]
fn what_others_refer_to_comes_first() {
    let map = index(SHOP).map(&[], 10_000);
    assert!(
        map.text.starts_with(
            "b/basket.rs:\n  1│ pub struct Basket;\n  2│ impl Basket\n  3│   pub fn total_price(&self) -> u32\n"
        ),
        "{}",
        map.text
    );
    assert_eq!((map.files, map.definitions, map.all_definitions), (5, 7, 7));
    assert!(map.unknown.is_empty());
}

#[test]
fn the_focus_comes_first_and_then_what_it_uses() {
    let index = index(SHOP);
    for (focus, first) in [
        (&["d/report.rs"][..], "d/report.rs:"),
        (&["d"], "d/report.rs:"),
        (&["./d/"], "d/report.rs:"),
        (&["print_report"], "d/report.rs:"),
        (&["report::print_report()"], "d/report.rs:"),
        (&["REPORT"], "d/report.rs:"),
        (&["unused.rs"], "a/unused.rs:"),
    ] {
        let map = index.map(&words(focus), 10_000);
        assert_eq!(first_line(&map), first, "{focus:?}\n{}", map.text);
        assert!(map.unknown.is_empty(), "{focus:?}");
    }
    let map = index.map(&words(&["d/report.rs"]), 10_000);
    let (basket, till) = (map.text.find("b/basket.rs").unwrap(), map.text.find("c/till.rs").unwrap());
    assert!(basket < till, "{}", map.text);
    let map = index.map(&words(&["nothing_like_it", " ", "pay"]), 10_000);
    assert_eq!(map.unknown, ["nothing_like_it"]);
    assert_eq!(first_line(&map), "c/till.rs:");
}

#[test]
fn the_text_is_cut_to_the_limit() {
    let index = index(SHOP);
    let whole = index.map(&[], 10_000).text;
    for limit in 0..whole.len() + 10 {
        let map = index.map(&[], limit);
        assert!(map.text.len() <= limit, "{limit}: {}", map.text);
    }
    assert_eq!(index.map(&[], whole.len()).text, whole);
    assert_eq!(index.map(&[], 0).text, "");
}

#[test]
fn names_that_everybody_defines_point_nowhere() {
    let mut files: Vec<(String, Tags)> = (0..40)
        .map(|number| {
            let source =
                format!("pub fn execute() {{ helper_{number}(); }}\npub fn helper_{number}() {{}}\n");
            (format!("f{number:02}.rs"), tags(SourceLanguage::Rust, &source))
        })
        .collect();
    files.push(("z.rs".to_owned(), tags(SourceLanguage::Rust, "fn start() { execute(); helper_7(); }\n")));
    let map = SymbolIndex::build(files).map(&[], 10_000);
    assert_eq!(first_line(&map), "f07.rs:", "{}", map.text);
}

#[test]
fn ranks_do_not_depend_on_chance() {
    let files: Vec<(String, String)> = (0..60)
        .map(|number| {
            let source = format!(
                "pub fn symbol_{number}() {{ symbol_{}(); symbol_{}(); }}\n",
                (number * 7 + 3) % 60,
                (number * 11) % 60
            );
            (format!("f{number:02}.rs"), source)
        })
        .collect();
    let borrowed: Vec<(&str, &str)> =
        files.iter().map(|(path, source)| (path.as_str(), source.as_str())).collect();
    let first = index(&borrowed).map(&words(&["symbol_3"]), 4_000);
    for _ in 0..5 {
        assert_eq!(index(&borrowed).map(&words(&["symbol_3"]), 4_000), first);
    }
}

#[test]
fn odd_trees_are_no_trouble() {
    let empty = SymbolIndex::build([]).map(&words(&["x"]), 1_000);
    assert_eq!((empty.text.as_str(), empty.unknown.as_slice()), ("", &["x".to_owned()][..]));
    let no_names = index(&[("a.rs", "")]).map(&[], 1_000);
    assert_eq!(no_names.text, "");
    let forged = index(&[("a\nb.rs", "fn a() {}\n")]).map(&[], 1_000);
    assert_eq!(forged.text, "a\\nb.rs:\n  1│ fn a()\n");
}
