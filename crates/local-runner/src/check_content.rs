//! Tells what a check works on from what decides how it works. Sources, tests, documents and data are the content: a
//! model may write them, and a check runs them in the sandbox. Whatever else a turn writes may be a recipe: a list of
//! recipes is never complete, so it is the content that is listed, but for names that are known to be recipes.

use std::path::Path;

use serde_json::Value as Json;
use toml::Table;

/// Endings of sources, documents and data, by which a check works but that do not say how.
const CONTENT_ENDINGS: &[&str] = &[
    // sources
    "ada", "asm", "c", "cc", "cl", "clj", "cljs", "cpp", "cr", "cs", "css", "cu", "cxx", "dart", "el", "elm",
    "erl", "ex", "exs", "f90", "frag", "fs", "gd", "glsl", "go", "graphql", "groovy", "h", "hh", "hpp",
    "hrl", "hs", "html", "hx", "inc", "inl", "ipynb", "java", "jl", "js", "jsx", "kt", "less", "lisp", "lua",
    "m", "metal", "mjs", "cjs", "ml", "mli", "mm", "mts", "cts", "nim", "pas", "php", "pl", "pm", "proto",
    "purs", "py", "pyi", "pyx", "r", "rb", "rs", "s", "sass", "scala", "scm", "scss", "sol", "sql", "sv",
    "svelte", "swift", "tcl", "ts", "tsx", "v", "vert", "vhd", "vue", "wat", "wgsl", "zig",
    // documents
    "adoc", "bib", "htm", "md", "mdx", "org", "po", "pot", "rst", "tex", "txt", // data
    "bmp", "csv", "dot", "gif", "golden", "ico", "jpeg", "jpg", "mmd", "mp3", "mp4", "ndjson", "jsonl",
    "otf", "pdf", "png", "snap", "svg", "tsv", "ttf", "wav", "wasm", "webm", "webp", "woff", "woff2", "zip",
];
/// Endings of what build tools are told by, wherever it lies.
const RECIPE_ENDINGS: &[&str] = &[
    "ac", "am", "bat", "bazel", "build", "bzl", "cabal", "cake", "cmake", "cmd", "csproj", "d", "dune",
    "fsproj", "gemspec", "gradle", "gyp", "gypi", "in", "just", "kts", "m4", "make", "makefile", "mak", "mk",
    "mill", "ninja", "nix", "opam", "podspec", "pri", "pro", "props", "ps1", "pth", "rake", "rockspec", "ru",
    "sbt", "sc", "sln", "targets", "vbproj", "vcxproj", "xcconfig",
];
/// Names of recipes that end like content, or like data that lies anywhere. In small letters.
const RECIPE_NAMES: &[&str] = &[
    "angular.json",
    "ant.xml",
    "appveyor.yml",
    "babel.config.json",
    "biome.json",
    "biome.jsonc",
    "build.boot",
    "build.hs",
    "build.js",
    "build.ml",
    "build.pl",
    "build.py",
    "build.rs",
    "build.ts",
    "build.xml",
    "build.zig",
    "build.zig.zon",
    "bunfig.toml",
    "cargo.toml",
    "cmakelists.txt",
    "cmakepresets.json",
    "cmakeuserpresets.json",
    "composer.json",
    "conanfile.py",
    "conanfile.txt",
    "conftest.py",
    "cypress.json",
    "deno.json",
    "deno.jsonc",
    "deps.edn",
    "dodo.py",
    "dub.json",
    "dub.sdl",
    "elm.json",
    "fabfile.py",
    "go.work",
    "gradle.properties",
    "gruntfile.js",
    "gulpfile.js",
    "import_map.json",
    "jake.js",
    "jest.json",
    "karma.conf.js",
    "lerna.json",
    "magefile.go",
    "makefile.pl",
    "manifest.scm",
    "maven-wrapper.properties",
    "meson_options.txt",
    "mise.toml",
    "mix.exs",
    "mocha.opts",
    "module.bazel",
    "moon.yml",
    "mypy.ini",
    "noxfile.py",
    "nx.json",
    "package.json",
    "package.swift",
    "package.yaml",
    "phpcs.xml",
    "phpstan.neon",
    "phpunit.xml",
    "pixi.toml",
    "pnpm-workspace.yaml",
    "pom.xml",
    "premake5.lua",
    "project.clj",
    "project.json",
    "pubspec.yaml",
    "pyproject.toml",
    "pytest.ini",
    "rebar.config",
    "ruff.toml",
    "rust-toolchain.toml",
    "settings.xml",
    "setup.cfg",
    "setup.hs",
    "setup.py",
    "shadow-cljs.edn",
    "shard.yml",
    "sitecustomize.py",
    "stack.yaml",
    "taskfile.yaml",
    "taskfile.yml",
    "tasks.py",
    "tox.ini",
    "tsconfig.json",
    "turbo.json",
    "usercustomize.py",
    "vcpkg.json",
    "workspace.json",
    "wscript.py",
    "xmake.lua",
];
/// Parts of names of settings that are programs: `vite.config.ts`, `jest.setup.js`, `karma.conf.js`.
const SETTING_PARTS: &[&str] =
    &["config", "conf", "setup", "workspace", "rc", "preset", "gulpfile", "gruntfile"];
/// Directories in which everything belongs to a build tool.
const RECIPE_DIRECTORIES: &[&str] =
    &["buildsrc", "build-logic", "gradle", "rakelib", "cmake", "m4", "node_modules", "xtask"];
/// What begins with a dot and decides nothing that a check does.
const HARMLESS_DOT_FILES: &[&str] =
    &[".gitignore", ".gitkeep", ".keep", ".mailmap", ".dockerignore", ".npmignore"];
/// What has no ending and is a document.
const DOCUMENTS: &[&str] = &[
    "authors",
    "changelog",
    "changes",
    "codeowners",
    "contributing",
    "contributors",
    "copying",
    "history",
    "install",
    "license",
    "licence",
    "maintainers",
    "news",
    "notice",
    "readme",
    "security",
    "todo",
    "version",
];
/// What package managers write.
const LOCK_FILES: &[&str] = &[
    "bun.lock",
    "bun.lockb",
    "cargo.lock",
    "composer.lock",
    "deno.lock",
    "flake.lock",
    "gemfile.lock",
    "go.mod",
    "go.sum",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pipfile.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "uv.lock",
    "yarn.lock",
];
/// Keys of a package that say what it needs and what it is, but not what is run.
const PACKAGE_KEYS: &[&str] = &[
    "name",
    "version",
    "description",
    "keywords",
    "author",
    "authors",
    "license",
    "homepage",
    "repository",
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "optionalDependencies",
    "require",
    "require-dev",
];

/// Returns true for a file that a check may work on, but that does not decide what the check does. A name that stands
/// in the check or in its recipes (`is_named`) is a setting, unless it is a source or a document.
pub(crate) fn is_content(path: &str, is_named: impl Fn(&str) -> bool) -> bool {
    let lower = path.to_ascii_lowercase();
    let (directory, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let is_at_top = directory.is_empty();
    if directory.split('/').any(is_recipe_directory) {
        return false;
    }
    if LOCK_FILES.contains(&name) || HARMLESS_DOT_FILES.contains(&name) || is_requirements(name) {
        return true;
    }
    if name.starts_with('.') || RECIPE_NAMES.contains(&name) {
        return false;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else { return DOCUMENTS.contains(&name) };
    let is_setting = stem.split(['.', '_']).skip(1).any(|part| SETTING_PARTS.contains(&part));
    let is_makefile = stem.trim_start_matches("gnu").starts_with("makefile");
    if is_setting
        || is_makefile
        || RECIPE_ENDINGS.contains(&ending)
        || SETTING_PARTS.contains(&stem) && is_at_top
    {
        return false;
    }
    if CONTENT_ENDINGS.contains(&ending) {
        return true;
    }
    // Settings lie at the top, or are named by what does.
    !is_at_top && !is_named(path)
}

fn is_recipe_directory(name: &str) -> bool {
    (name.starts_with('.') && name != ".github") || RECIPE_DIRECTORIES.contains(&name)
}

/// What Python is to install.
fn is_requirements(name: &str) -> bool {
    name.starts_with("requirements") && name.ends_with(".txt")
}

/// What counts in a file: all of it, but of a package only what decides what is run. What it needs comes and goes with the
/// work, like the sources that use it.
pub(crate) fn deciding_part(path: &str, content: &[u8]) -> Option<Vec<u8>> {
    let name = Path::new(path).file_name()?.to_str()?;
    match name {
        "package.json" | "composer.json" => {
            let mut package: serde_json::Map<String, Json> = serde_json::from_slice(content).ok()?;
            package.retain(|key, _| !PACKAGE_KEYS.contains(&key.as_str()));
            package.sort_keys();
            serde_json::to_vec(&package).ok()
        }
        "Cargo.toml" => {
            let mut manifest: Table = toml::from_str(std::str::from_utf8(content).ok()?).ok()?;
            remove_needs(&mut manifest);
            for table in ["workspace", "package"] {
                if let Some(table) = manifest.get_mut(table).and_then(toml::Value::as_table_mut) {
                    remove_needs(table);
                    table.retain(|key, _| !PACKAGE_KEYS.contains(&key));
                }
            }
            let targets = manifest.get_mut("target").and_then(toml::Value::as_table_mut);
            for (_, target) in targets.into_iter().flatten() {
                target.as_table_mut().into_iter().for_each(remove_needs);
            }
            toml::to_string(&manifest).ok().map(String::into_bytes)
        }
        _ => None,
    }
}

fn remove_needs(table: &mut Table) {
    table.retain(|key, _| {
        !matches!(key, "dependencies" | "dev-dependencies" | "build-dependencies" | "features")
    });
}

#[cfg(test)]
mod tests {
    use super::{deciding_part, is_content};

    /// What decides how a check works.
    const RECIPES: &str = "\
        build.gradle build.gradle.kts sub/settings.gradle gradlew gradle/wrapper/x \
        gradle.properties pom.xml sub/pom.xml mvnw .mvn/extensions.xml \
        .mvn/jvm.config BUILD a/BUILD WORKSPACE MODULE.bazel rules/x.bzl .bazelrc meson.build \
        meson_options.txt CMakeLists.txt sub/CMakeLists.txt pytest.ini setup.cfg tox.ini conftest.py \
        tests/conftest.py noxfile.py pyproject.toml sub/package.json vite.config.ts \
        web/vitest.config.mts jest.config.js jest.setup.js Rakefile Gemfile .rspec composer.json \
        phpunit.xml justfile Taskfile.yml deno.json build.zig Cargo.toml build.rs crates/a/build.rs \
        .cargo/config.toml rust-toolchain mix.exs Package.swift Dockerfile unknown.zzz settings.yaml \
        conf/lint.json SConstruct magefile.go node_modules/x/index.js buildSrc/src/main/java/A.java \
        sitecustomize.py x/y.pth Makefile.common .eslintrc.js config.js a/b.mk tsconfig.json";
    /// What a check works on.
    const CONTENT: &str = "\
        src/main.rs tests/test_a.py a.txt README README.md docs/x.md src/config.rs data/a.json \
        locales/de.yml Cargo.lock package-lock.json requirements.txt requirements-dev.txt .gitignore \
        .github/workflows/ci.yml src/a.test.ts index.html x.png go.mod src/setup.ts LICENSE";

    #[test]
    fn what_decides_is_told_from_what_is_worked_on() {
        let is_named = |path: &str| path == "conf/lint.json";
        for recipe in RECIPES.split_whitespace() {
            assert!(!is_content(recipe, is_named), "{recipe}");
        }
        for content in CONTENT.split_whitespace() {
            assert!(is_content(content, is_named), "{content}");
        }
    }

    #[test]
    fn what_a_package_needs_does_not_decide() {
        let part = |name: &str, text: &str| deciding_part(name, text.as_bytes()).unwrap();
        let before = part("package.json", r#"{"scripts":{"test":"x"},"dependencies":{}}"#);
        assert_eq!(part("a/package.json", r#"{"dependencies":{"a":"1"},"scripts":{"test":"x"}}"#), before);
        assert_ne!(part("package.json", r#"{"scripts":{"test":"x"},"jest":{}}"#), before);
        let before = part("Cargo.toml", "[package]\nname = \"a\"\n[dependencies]\n");
        let more = "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n[target.'cfg(unix)'.dependencies]\nc = \"1\"\n";
        assert_ne!(part("Cargo.toml", more), before, "a table of targets is new");
        assert_eq!(part("Cargo.toml", "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n"), before);
        assert_ne!(
            part("Cargo.toml", "[package]\nname = \"a\"\nbuild = \"x.txt\"\n[dependencies]\n"),
            before
        );
        let hidden = "[package]\nname = \"a\"\ndescription = '''\n[dependencies]\n'''\nbuild = \"x.txt\"\n";
        assert_ne!(part("Cargo.toml", hidden), before);
        assert!(deciding_part("Cargo.toml", b"[").is_none() && deciding_part("Makefile", b"").is_none());
    }
}
