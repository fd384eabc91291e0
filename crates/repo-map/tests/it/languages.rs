//! A sample of each language: what it defines, and what it refers to.

use std::time::Duration;

use ostler_repo_map::{SourceLanguage, Tagger};

use crate::tags;

/// A source, the definitions expected of it (line, depth, name, signature), and names that it must
/// refer to, or must not where they begin with `!`.
struct LanguageSample {
    language: SourceLanguage,
    source: &'static str,
    definitions: &'static [(u32, usize, &'static str, &'static str)],
    references: &'static [&'static str],
}

const SAMPLES: &[LanguageSample] = &[
    LanguageSample {
        language: SourceLanguage::Rust,
        source: "use crate::a::{read_all, Stop};\n\npub struct Shell {\n    stop: Stop,\n}\n\nimpl Tool for Shell {\n    \
                 fn run(\n        &self,\n        input: Value,\n    ) -> Outcome {\n        fn inner() {}\n        let \
                 local = read_all::<u8>(input);\n        self.attend(local)\n    }\n}\n\nconst MAX: usize = 3;\n\
                 macro_rules! shout { () => {} }\n",
        definitions: &[
            (3, 0, "Shell", "pub struct Shell"),
            (7, 0, "", "impl Tool for Shell"),
            (8, 1, "run", "fn run( &self, input: Value, ) -> Outcome"),
            (18, 0, "MAX", "const MAX: usize = 3;"),
            (19, 0, "shout", "macro_rules! shout { () => {} }"),
        ],
        references: &["Tool", "Value", "Outcome", "Stop", "read_all", "attend", "!local", "!input"],
    },
    LanguageSample {
        language: SourceLanguage::Python,
        source: "from shop import Basket, total\n\nLIMIT = 3\n\n@cached\nclass Till(Basket):\n    def pay(self, sum: \
                 Money) -> bool:\n        def helper(): pass\n        return total(self.items) > sum\n\nasync def \
                 main():\n    Till().pay(1)\n",
        definitions: &[
            (3, 0, "LIMIT", "LIMIT = 3"),
            (6, 0, "Till", "class Till(Basket)"),
            (7, 1, "pay", "def pay(self, sum: Money) -> bool"),
            (11, 0, "main", "async def main()"),
        ],
        references: &["Basket", "total", "Money", "cached", "pay", "Till", "!items", "!sum"],
    },
    LanguageSample {
        language: SourceLanguage::JavaScript,
        source: "import { open } from './files';\nexport const retry = async (times) => {\n  const inner = () => 1;\n  \
                 return open(times);\n};\nexport class Door extends Base {\n  knock(who) { return who.answer(); }\n}\n\
                 export default function leave() {}\nmodule.exports.shut = function () {};\nconst App = () => \
                 <Panel title=\"x\" />;\n",
        definitions: &[
            (2, 0, "retry", "export const retry = async (times) =>"),
            (6, 0, "Door", "export class Door extends Base"),
            (7, 1, "knock", "knock(who)"),
            (9, 0, "leave", "export default function leave()"),
            (10, 0, "shut", "module.exports.shut = function () {};"),
            (11, 0, "App", "const App = () => <Panel title=\"x\" />;"),
        ],
        references: &["open", "Base", "answer", "Panel", "!times", "!who"],
    },
    LanguageSample {
        language: SourceLanguage::TypeScript,
        source: "export interface Shape { area(): number; }\nexport type Id = string | Shape;\nexport enum Kind { A \
                 }\nexport abstract class Figure implements Shape {\n  abstract area(): number;\n  scale(by: Factor): \
                 Figure { return grow(this, by); }\n}\nexport function grow(figure: Figure): Figure { return figure; \
                 }\nnamespace Inner { export const depth = 1; }\n",
        definitions: &[
            (1, 0, "Shape", "export interface Shape"),
            (1, 1, "area", "export interface Shape { area(): number; }"),
            (2, 0, "Id", "export type Id = string | Shape;"),
            (3, 0, "Kind", "export enum Kind"),
            (4, 0, "Figure", "export abstract class Figure implements Shape"),
            (5, 1, "area", "abstract area(): number;"),
            (6, 1, "scale", "scale(by: Factor): Figure"),
            (8, 0, "grow", "export function grow(figure: Figure): Figure"),
            (9, 0, "Inner", "namespace Inner"),
        ],
        references: &["Shape", "Factor", "Figure", "grow", "!by", "!figure"],
    },
    LanguageSample {
        language: SourceLanguage::Tsx,
        source: "export function Page(props: Props) {\n  return <Layout>{render(props)}</Layout>;\n}\n",
        definitions: &[(1, 0, "Page", "export function Page(props: Props)")],
        references: &["Props", "Layout", "render", "!props"],
    },
    LanguageSample {
        language: SourceLanguage::Go,
        source: "package a\n\nconst Limit = 3\n\ntype Store interface {\n\tGet(key string) (Value, error)\n}\n\ntype \
                 memory struct{ rows map[string]Value }\n\nfunc (m *memory) Get(key string) (Value, error) {\n\treturn \
                 lookup(m.rows, key)\n}\n\nfunc New() Store { return &memory{} }\n",
        definitions: &[
            (3, 0, "Limit", "const Limit = 3"),
            (5, 0, "Store", "type Store interface"),
            (6, 1, "Get", "Get(key string) (Value, error)"),
            (9, 0, "memory", "type memory struct{ rows map[string]Value }"),
            (11, 0, "Get", "func (m *memory) Get(key string) (Value, error)"),
            (15, 0, "New", "func New() Store"),
        ],
        references: &["Value", "Store", "lookup", "!key"],
    },
    LanguageSample {
        language: SourceLanguage::Java,
        source: "package a;\n\npublic class Till extends Box {\n    public Money pay(Customer who) {\n        return \
                 Bank.charge(who);\n    }\n    interface Rule { boolean holds(); }\n}\nrecord Point(int x, int y) \
                 {}\n",
        definitions: &[
            (3, 0, "Till", "public class Till extends Box"),
            (4, 1, "pay", "public Money pay(Customer who)"),
            (7, 1, "Rule", "interface Rule"),
            (7, 2, "holds", "interface Rule { boolean holds(); }"),
            (9, 0, "Point", "record Point(int x, int y)"),
        ],
        references: &["Box", "Money", "Customer", "Bank", "charge", "!who"],
    },
    LanguageSample {
        language: SourceLanguage::C,
        source: "#define LIMIT 3\n#define SQUARE(x) ((x) * (x))\nstruct node { struct node *next; };\ntypedef struct \
                 node node_t;\nstatic int depth(const node_t *from);\nnode_t *push(node_t *top, value_t value)\n{\n    \
                 return link_node(top, value);\n}\n",
        definitions: &[
            (1, 0, "LIMIT", "#define LIMIT 3"),
            (2, 0, "SQUARE", "#define SQUARE(x) ((x) * (x))"),
            (3, 0, "node", "struct node"),
            (4, 0, "node_t", "typedef struct node node_t;"),
            (5, 0, "depth", "static int depth(const node_t *from);"),
            (6, 0, "push", "node_t *push(node_t *top, value_t value)"),
        ],
        references: &["value_t", "node_t", "link_node", "!top"],
    },
    LanguageSample {
        language: SourceLanguage::Cpp,
        source: "namespace shop {\nclass Till : public Box {\n public:\n  int pay(Customer who);\n  int open() { return \
                 unlock(); }\n};\nint Till::pay(Customer who) { return bank::charge(who); }\nusing Name = \
                 std::string;\n}\n",
        definitions: &[
            (1, 0, "shop", "namespace shop"),
            (2, 1, "Till", "class Till : public Box"),
            (4, 2, "pay", "int pay(Customer who);"),
            (5, 2, "open", "int open()"),
            (7, 1, "pay", "int Till::pay(Customer who)"),
            (8, 1, "Name", "using Name = std::string;"),
        ],
        references: &["Box", "Customer", "unlock", "charge", "!who"],
    },
    LanguageSample {
        language: SourceLanguage::Ruby,
        source: "module Shop\n  LIMIT = 3\n  class Till < Box\n    def pay(who)\n      charge(who)\n    end\n    def \
                 self.build\n      new\n    end\n  end\nend\n",
        definitions: &[
            (1, 0, "Shop", "module Shop"),
            (2, 1, "LIMIT", "LIMIT = 3"),
            (3, 1, "Till", "class Till < Box"),
            (4, 2, "pay", "def pay(who)"),
            (7, 2, "build", "def self.build"),
        ],
        references: &["Box", "charge", "!who"],
    },
];

#[test]
fn a_sample_of_each_language_is_tagged() {
    for sample in SAMPLES {
        let tags = tags(sample.language, sample.source);
        let mut depths: Vec<usize> = Vec::new();
        let mut found = Vec::new();
        for definition in tags.definitions() {
            let depth = definition.parent.map_or(0, |parent| depths[parent as usize] + 1);
            depths.push(depth);
            found.push((definition.line, depth, definition.name, definition.signature));
        }
        assert_eq!(found, sample.definitions, "{:?}", sample.language);
        let references: Vec<&str> = tags.references().map(|(name, _)| name).collect();
        for name in sample.references {
            let (name, is_expected) = name.strip_prefix('!').map_or((*name, true), |name| (name, false));
            assert_eq!(
                references.contains(&name),
                is_expected,
                "{:?} {name}: {references:?}",
                sample.language
            );
        }
    }
    assert!(
        SourceLanguage::ALL.iter().all(|language| SAMPLES.iter().any(|sample| sample.language == *language))
    );
}

#[test]
fn what_only_implements_a_trait_defines_no_type() {
    let source = "impl Iterator for Rows {\n    type Item = Row;\n    fn next(&mut self) {}\n}\nimpl Rows {\n    pub const \
                  ALL: u8 = 1;\n}\n";
    let tags = tags(SourceLanguage::Rust, source);
    let names: Vec<&str> = tags.definitions().map(|definition| definition.name).collect();
    assert_eq!(names, ["", "next", "", "ALL"]);
}

#[test]
fn what_does_not_parse_gives_what_can_be_made_out() {
    let broken = tags(SourceLanguage::Rust, "fn good() {}\n}}} ((( fn\nstruct Later;\n");
    assert!(broken.definitions().any(|definition| definition.name == "good"));
    for language in SourceLanguage::ALL {
        for source in [&b""[..], b"\0\xff\xfe\x80(((", b"\xef\xbb\xbf", &[b'('; 60_000], &[b'\n'; 60_000]] {
            Tagger::new().tags(language, source, Duration::from_secs(600));
        }
    }
}

#[test]
fn what_takes_too_long_gives_nothing_and_harms_nothing() {
    let mut tagger = Tagger::new();
    let source = "fn name() { call(1); }\n".repeat(20_000);
    let late = tagger.tags(SourceLanguage::Rust, source.as_bytes(), Duration::ZERO);
    assert!(late.definitions().count() < 2_000);
    let next = tagger.tags(SourceLanguage::Python, b"def name(): pass\n", Duration::from_secs(600));
    assert_eq!(next.definitions().count(), 1);
}

#[test]
fn files_are_bounded() {
    let many = tags(SourceLanguage::Rust, &"fn a() {}\n".repeat(9_000));
    assert_eq!(many.definitions().count(), 2_000);
    let minified = format!("function a(){{}};{}", "x(1);".repeat(10_000));
    assert_eq!(tags(SourceLanguage::JavaScript, &minified).definitions().count(), 0);
    let long = format!("fn a(x: {}) {{}}\n", "&".repeat(1_000));
    let long = tags(SourceLanguage::Rust, &long);
    assert!(long.definitions().all(|definition| definition.signature.len() <= 164), "{long:?}");
}
