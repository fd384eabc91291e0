#!/usr/bin/env bash
# Fetches the repositories that the questions are about, by cargo and npm as they are configured on this
# machine, and measures the ranking. What it fetches stays in target/ranking.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
place=${1:-$root/target/ranking}
mkdir -p "$place/fetch/src" "$place/repositories"
cd "$place/fetch"

cat > Cargo.toml <<'EOF'
[package]
name = "fetch"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
cargo = "=0.98.0"
clap_builder = "=4.6.7"
tokio = "=1.54.1"
EOF
touch src/lib.rs

if [ ! -d "$place/repositories/tokio" ]; then
    cargo vendor --quiet --versioned-dirs vendor > /dev/null
    for crate in cargo-0.98.0 clap_builder-4.6.7 tokio-1.54.1; do
        cp -r "vendor/$crate" "$place/repositories/${crate%-*}"
    done
    rm -rf vendor
fi
for package in eslint@10.14.0 webpack@5.112.2; do
    name=${package%@*}
    if [ ! -d "$place/repositories/$name" ]; then
        archive=$(npm pack --silent "$package" | tail -1)
        tar xzf "$archive"
        mv package "$place/repositories/$name"
        rm "$archive"
    fi
done

cd "$root"
cargo run --quiet -p ostler-context --example ranking -- "$here/questions.toml" "$place/repositories"
