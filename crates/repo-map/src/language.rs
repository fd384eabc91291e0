//! The languages that a map knows: by which endings their files are known, their grammars, and the
//! queries that find definitions and references.

use std::path::Path;
use std::sync::LazyLock;

use tree_sitter::{Language as Grammar, Query};

/// A language whose files can be tagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Language {
    C,
    Cpp,
    Go,
    Java,
    JavaScript,
    Python,
    Ruby,
    Rust,
    TypeScript,
    Tsx,
}

impl Language {
    /// Every language.
    pub const ALL: [Language; 10] = [
        Language::C,
        Language::Cpp,
        Language::Go,
        Language::Java,
        Language::JavaScript,
        Language::Python,
        Language::Ruby,
        Language::Rust,
        Language::TypeScript,
        Language::Tsx,
    ];

    /// The language of a file, by its name. Headers count as C++, whose grammar reads C as well.
    pub fn of(path: &Path) -> Option<Language> {
        Some(match path.extension()?.to_str()? {
            "c" => Language::C,
            "h" | "hh" | "hpp" | "hxx" | "cc" | "cpp" | "cxx" => Language::Cpp,
            "go" => Language::Go,
            "java" => Language::Java,
            "js" | "jsx" | "mjs" | "cjs" => Language::JavaScript,
            "py" | "pyi" => Language::Python,
            "rb" => Language::Ruby,
            "rs" => Language::Rust,
            "ts" | "mts" | "cts" => Language::TypeScript,
            "tsx" => Language::Tsx,
            _ => return None,
        })
    }

    /// Languages that call one another by name share a family; a name means nothing in another one.
    pub(crate) fn family(self) -> Family {
        match self {
            Language::C | Language::Cpp => Family::C,
            Language::Go => Family::Go,
            Language::Java => Family::Java,
            Language::JavaScript | Language::TypeScript | Language::Tsx => Family::JavaScript,
            Language::Python => Family::Python,
            Language::Ruby => Family::Ruby,
            Language::Rust => Family::Rust,
        }
    }

    /// The grammar and the query. Compiled once, when first asked for.
    pub(crate) fn rules(self) -> &'static Rules {
        static RULES: [LazyLock<Rules>; 10] = [
            LazyLock::new(|| Rules::new(tree_sitter_c::LANGUAGE.into(), &[C])),
            LazyLock::new(|| Rules::new(tree_sitter_cpp::LANGUAGE.into(), &[C, CPP])),
            LazyLock::new(|| Rules::new(tree_sitter_go::LANGUAGE.into(), &[GO])),
            LazyLock::new(|| Rules::new(tree_sitter_java::LANGUAGE.into(), &[JAVA])),
            LazyLock::new(|| Rules::new(tree_sitter_javascript::LANGUAGE.into(), &[JAVASCRIPT])),
            LazyLock::new(|| Rules::new(tree_sitter_python::LANGUAGE.into(), &[PYTHON])),
            LazyLock::new(|| Rules::new(tree_sitter_ruby::LANGUAGE.into(), &[RUBY])),
            LazyLock::new(|| Rules::new(tree_sitter_rust::LANGUAGE.into(), &[RUST])),
            LazyLock::new(|| {
                Rules::new(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), &[JAVASCRIPT, TYPESCRIPT])
            }),
            LazyLock::new(|| {
                Rules::new(tree_sitter_typescript::LANGUAGE_TSX.into(), &[JAVASCRIPT, TYPESCRIPT])
            }),
        ];
        &RULES[self as usize]
    }
}

const C: &str = include_str!("queries/c.scm");
const CPP: &str = include_str!("queries/cpp.scm");
const GO: &str = include_str!("queries/go.scm");
const JAVA: &str = include_str!("queries/java.scm");
const JAVASCRIPT: &str = include_str!("queries/javascript.scm");
const PYTHON: &str = include_str!("queries/python.scm");
const RUBY: &str = include_str!("queries/ruby.scm");
const RUST: &str = include_str!("queries/rust.scm");
const TYPESCRIPT: &str = include_str!("queries/typescript.scm");

/// Languages within which a name means the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    C,
    Go,
    Java,
    JavaScript,
    Python,
    Ruby,
    Rust,
}

/// How a language is read.
pub(crate) struct Rules {
    pub(crate) grammar: Grammar,
    pub(crate) query: Query,
    /// What each capture of the query stands for, by its number.
    pub(crate) captures: Vec<Capture>,
}

/// What a capture of a query stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capture {
    /// The name of the definition in the same match.
    Name,
    /// A definition that holds others: a type, a module, an implementation.
    Scope,
    /// A definition whose inner definitions are its own affair.
    Function,
    /// Any other definition.
    Value,
    /// A name that refers to something.
    Reference,
    /// A name that does so if it begins with a capital; otherwise it is likely a local variable.
    Capital,
}

impl Rules {
    fn new(grammar: Grammar, queries: &[&str]) -> Rules {
        let query = Query::new(&grammar, &queries.concat())
            .expect("the queries are constants, and a test compiles each against its grammar");
        let captures = query.capture_names().iter().map(|name| Capture::named(name)).collect();
        Rules { grammar, query, captures }
    }
}

impl Capture {
    fn named(name: &str) -> Capture {
        match name {
            "name" => Capture::Name,
            "scope" => Capture::Scope,
            "function" => Capture::Function,
            "value" => Capture::Value,
            "reference" => Capture::Reference,
            "capital" => Capture::Capital,
            other => panic!("the queries have no capture named {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Language;

    #[test]
    fn every_grammar_loads_and_every_query_compiles() {
        for language in Language::ALL {
            let rules = language.rules();
            tree_sitter::Parser::new().set_language(&rules.grammar).unwrap();
            assert!(rules.captures.len() >= 4, "{language:?}");
        }
    }

    #[test]
    fn files_are_known_by_their_ending() {
        for (path, language) in [
            ("a/b.rs", Some(Language::Rust)),
            ("x.tsx", Some(Language::Tsx)),
            ("x.h", Some(Language::Cpp)),
            ("Makefile", None),
            (".rs", None),
            ("x.md", None),
        ] {
            assert_eq!(Language::of(Path::new(path)), language, "{path}");
        }
    }
}
