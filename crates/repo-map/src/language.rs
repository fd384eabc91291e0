//! The languages that a map knows: by which endings their files are known, their grammars, and the
//! queries that find definitions and references.

use std::path::Path;
use std::sync::LazyLock;

use tree_sitter::{Language as Grammar, Query};

/// A language whose files can be tagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum SourceLanguage {
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

impl SourceLanguage {
    /// Every language.
    pub const ALL: [SourceLanguage; 10] = [
        SourceLanguage::C,
        SourceLanguage::Cpp,
        SourceLanguage::Go,
        SourceLanguage::Java,
        SourceLanguage::JavaScript,
        SourceLanguage::Python,
        SourceLanguage::Ruby,
        SourceLanguage::Rust,
        SourceLanguage::TypeScript,
        SourceLanguage::Tsx,
    ];

    /// The language of a file, by its name. Headers count as C++, whose grammar reads C as well.
    pub fn from_path(path: &Path) -> Option<SourceLanguage> {
        Some(match path.extension()?.to_str()? {
            "c" => SourceLanguage::C,
            "h" | "hh" | "hpp" | "hxx" | "cc" | "cpp" | "cxx" => SourceLanguage::Cpp,
            "go" => SourceLanguage::Go,
            "java" => SourceLanguage::Java,
            "js" | "jsx" | "mjs" | "cjs" => SourceLanguage::JavaScript,
            "py" | "pyi" => SourceLanguage::Python,
            "rb" => SourceLanguage::Ruby,
            "rs" => SourceLanguage::Rust,
            "ts" | "mts" | "cts" => SourceLanguage::TypeScript,
            "tsx" => SourceLanguage::Tsx,
            _ => return None,
        })
    }

    /// Languages that call one another by name share a family; a name means nothing in another one.
    pub(crate) fn family(self) -> LanguageFamily {
        match self {
            SourceLanguage::C | SourceLanguage::Cpp => LanguageFamily::C,
            SourceLanguage::Go => LanguageFamily::Go,
            SourceLanguage::Java => LanguageFamily::Java,
            SourceLanguage::JavaScript | SourceLanguage::TypeScript | SourceLanguage::Tsx => {
                LanguageFamily::JavaScript
            }
            SourceLanguage::Python => LanguageFamily::Python,
            SourceLanguage::Ruby => LanguageFamily::Ruby,
            SourceLanguage::Rust => LanguageFamily::Rust,
        }
    }

    /// The grammar and the query. Compiled once, when first asked for.
    pub(crate) fn rules(self) -> &'static LanguageRules {
        static RULES: [LazyLock<LanguageRules>; 10] = [
            LazyLock::new(|| LanguageRules::new(tree_sitter_c::LANGUAGE.into(), &[C])),
            LazyLock::new(|| LanguageRules::new(tree_sitter_cpp::LANGUAGE.into(), &[C, CPP])),
            LazyLock::new(|| LanguageRules::new(tree_sitter_go::LANGUAGE.into(), &[GO])),
            LazyLock::new(|| LanguageRules::new(tree_sitter_java::LANGUAGE.into(), &[JAVA])),
            LazyLock::new(|| LanguageRules::new(tree_sitter_javascript::LANGUAGE.into(), &[JAVASCRIPT])),
            LazyLock::new(|| LanguageRules::new(tree_sitter_python::LANGUAGE.into(), &[PYTHON])),
            LazyLock::new(|| LanguageRules::new(tree_sitter_ruby::LANGUAGE.into(), &[RUBY])),
            LazyLock::new(|| LanguageRules::new(tree_sitter_rust::LANGUAGE.into(), &[RUST])),
            LazyLock::new(|| {
                LanguageRules::new(
                    tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
                    &[JAVASCRIPT, TYPESCRIPT],
                )
            }),
            LazyLock::new(|| {
                LanguageRules::new(tree_sitter_typescript::LANGUAGE_TSX.into(), &[JAVASCRIPT, TYPESCRIPT])
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
pub(crate) enum LanguageFamily {
    C,
    Go,
    Java,
    JavaScript,
    Python,
    Ruby,
    Rust,
}

/// How a language is read.
pub(crate) struct LanguageRules {
    pub(crate) grammar: Grammar,
    pub(crate) query: Query,
    /// What each capture of the query stands for, by its number.
    pub(crate) captures: Vec<QueryCapture>,
}

/// What a capture of a query stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryCapture {
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

impl LanguageRules {
    fn new(grammar: Grammar, queries: &[&str]) -> LanguageRules {
        let query = Query::new(&grammar, &queries.concat())
            .expect("the queries are constants, and a test compiles each against its grammar");
        let captures = query.capture_names().iter().map(|name| QueryCapture::from_name(name)).collect();
        LanguageRules { grammar, query, captures }
    }
}

impl QueryCapture {
    fn from_name(name: &str) -> QueryCapture {
        match name {
            "name" => QueryCapture::Name,
            "scope" => QueryCapture::Scope,
            "function" => QueryCapture::Function,
            "value" => QueryCapture::Value,
            "reference" => QueryCapture::Reference,
            "capital" => QueryCapture::Capital,
            other => panic!("the queries have no capture named {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::SourceLanguage;

    #[test]
    fn every_grammar_loads_and_every_query_compiles() {
        for language in SourceLanguage::ALL {
            let rules = language.rules();
            tree_sitter::Parser::new().set_language(&rules.grammar).unwrap();
            assert!(rules.captures.len() >= 4, "{language:?}");
        }
    }

    #[test]
    fn files_are_known_by_their_ending() {
        for (path, language) in [
            ("a/b.rs", Some(SourceLanguage::Rust)),
            ("x.tsx", Some(SourceLanguage::Tsx)),
            ("x.h", Some(SourceLanguage::Cpp)),
            ("Makefile", None),
            (".rs", None),
            ("x.md", None),
        ] {
            assert_eq!(SourceLanguage::from_path(Path::new(path)), language, "{path}");
        }
    }
}
