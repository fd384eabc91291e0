//! What is in the binary: every crate and every package of the page, with version, licence and checksum, as a
//! CycloneDX document. Tools that only build or test are not in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::environment::BuildEnvironment;
use crate::repository;

/// The document, for what is checked out at `root`.
pub(super) fn sbom(root: &Path, environment: &BuildEnvironment) -> Result<String, String> {
    let metadata = repository::output(repository::cargo().current_dir(root).args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        &environment.target,
    ]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let read = |name: &str| {
        std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name} cannot be read: {error}"))
    };
    let lock: toml::Table = read("Cargo.lock")?.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages: Value = serde_json::from_str(&read("web/package-lock.json")?)
        .map_err(|error| format!("web/package-lock.json: {error}"))?;
    let mut document = crate_components(&metadata, &checksums(&lock))?;
    let components = document["components"].as_array_mut().ok_or("the list has no components")?;
    components.extend(page_components(&packages));
    document["metadata"]["properties"] = json!([
        {"name": "target", "value": environment.target},
        {"name": "commit_time", "value": environment.time},
    ]);
    Ok(format!("{document:#}\n"))
}

/// The checksum of each crate, by name and version.
fn checksums(lock: &toml::Table) -> BTreeMap<(String, String), String> {
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let text =
        |package: &toml::Value, key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    packages
        .filter_map(|package| {
            Some(((text(package, "name")?, text(package, "version")?), text(package, "checksum")?))
        })
        .collect()
}

/// The binary, and the crates that are linked into it.
fn crate_components(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Value, String> {
    let packages: BTreeMap<&str, &Value> =
        array(&metadata["packages"]).iter().map(|package| (text(package, "id"), package)).collect();
    let nodes: BTreeMap<&str, &Value> =
        array(&metadata["resolve"]["nodes"]).iter().map(|node| (text(node, "id"), node)).collect();
    let binary = packages.iter().find(|(_, package)| text(package, "name") == "ostler-cli");
    let (&binary, &main) = binary.ok_or("there is no package `ostler-cli`")?;
    let (mut seen, mut next) = (BTreeSet::from([binary]), vec![binary]);
    while let Some(id) = next.pop() {
        let linked = nodes.get(id).into_iter().flat_map(|node| linked_crates(node));
        next.extend(linked.filter(|id| seen.insert(id)));
    }
    let name = |id: &str| packages.get(id).map(|package| purl("cargo", package)).unwrap_or_default();
    let component = |id: &&str| packages.get(id).map(|package| library_component(package, checksums));
    let depends = |id: &&str| {
        let on: BTreeSet<String> =
            nodes.get(id).into_iter().flat_map(|node| linked_crates(node)).map(name).collect();
        json!({"ref": name(id), "dependsOn": on})
    };
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": purl("cargo", main),
                "name": "ostler",
                "version": main["version"],
                "licenses": [{"expression": main["license"]}],
            },
        },
        "components": seen.iter().filter(|id| **id != binary).filter_map(component).collect::<Vec<_>>(),
        "dependencies": seen.iter().map(depends).collect::<Vec<_>>(),
    }))
}

/// What a crate has linked into it; what only its build or its tests need is not.
fn linked_crates(node: &Value) -> impl Iterator<Item = &str> {
    let normal =
        |dependency: &&Value| array(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
    array(&node["deps"]).iter().filter(normal).map(|dependency| text(dependency, "pkg"))
}

fn library_component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let key = (text(package, "name").to_owned(), text(package, "version").to_owned());
    let mut component = json!({
        "type": "library",
        "bom-ref": purl("cargo", package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl("cargo", package),
        "licenses": [{"expression": package["license"]}],
    });
    if let Some(checksum) = checksums.get(&key) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

/// The packages that end up in the page. Its compiler leaves its runtime in it, too.
fn page_components(lock: &Value) -> Vec<Value> {
    let packages = lock["packages"].as_object().into_iter().flatten();
    let named = packages.filter_map(|(path, package)| Some((path.strip_prefix("node_modules/")?, package)));
    let in_page = named.filter(|(name, package)| *name == "svelte" || package["dev"] != true);
    in_page
        .map(|(name, package)| {
            let purl = format!("pkg:npm/{}@{}", name.replace('@', "%40"), text(package, "version"));
            json!({
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": package["version"],
                "purl": purl,
                "licenses": [{"expression": package["license"]}],
            })
        })
        .collect()
}

fn purl(kind: &str, package: &Value) -> String {
    format!("pkg:{kind}/{}@{}", text(package, "name"), text(package, "version"))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{checksums, crate_components, page_components};

    #[test]
    fn what_is_linked_is_listed_and_what_only_builds_is_not() {
        let package = |name: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT"});
        let metadata = json!({
            "packages": [package("ostler-cli"), package("linked"), package("deep"), package("builds"), package("tests")],
            "resolve": {"nodes": [
                {"id": "ostler-cli", "deps": [
                    {"pkg": "linked", "dep_kinds": [{"kind": null}]},
                    {"pkg": "builds", "dep_kinds": [{"kind": "build"}]},
                    {"pkg": "tests", "dep_kinds": [{"kind": "dev"}]},
                ]},
                {"id": "linked", "deps": [{"pkg": "deep", "dep_kinds": [{"kind": "build"}, {"kind": null}]}]},
                {"id": "deep", "deps": []},
            ]},
        });
        let lock = "[[package]]\nname = \"deep\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n".parse().unwrap();
        let document = crate_components(&metadata, &checksums(&lock)).unwrap();
        let names: Vec<_> =
            document["components"].as_array().unwrap().iter().map(|part| &part["name"]).collect();
        assert_eq!(names, ["deep", "linked"]);
        assert_eq!(document["components"][0]["hashes"][0]["content"], "abc");
        assert_eq!(document["dependencies"][1]["dependsOn"], json!(["pkg:cargo/deep@1.0.0"]));
    }

    #[test]
    fn the_page_is_what_is_not_for_development_and_its_runtime() {
        let lock = json!({"packages": {
            "": {"version": "1.0.0"},
            "node_modules/marked": {"version": "2.0.0", "license": "MIT"},
            "node_modules/svelte": {"version": "5.0.0", "license": "MIT", "dev": true},
            "node_modules/vite": {"version": "8.0.0", "license": "MIT", "dev": true},
        }});
        let purls: Vec<_> = page_components(&lock).into_iter().map(|part| part["purl"].clone()).collect();
        assert_eq!(purls, ["pkg:npm/marked@2.0.0", "pkg:npm/svelte@5.0.0"]);
    }
}
