//! Replaces this program by the newest release at an address: reads what is there, downloads the file, checks its size and
//! hash, and puts it in place in one step. Whether there is an address is decided when the program is built.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use ostler_workspace_fs::{ReplaceOptions, Replacement};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Where releases are; none in a build that was made without one.
pub const RELEASES_URL: Option<&str> = option_env!("OSTLER_UPGRADE_URL");

/// Bytes of a program and of its description, at most.
const MAX_PROGRAM_BYTES: u64 = 512 << 20;
const MAX_DESCRIPTION_BYTES: u64 = 64 << 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a server may send nothing.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// A release, as `latest.json` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Release {
    /// Its version.
    pub version: String,
    /// The target that it was built for, such as `x86_64-unknown-linux-musl`.
    pub target: String,
    /// The name of the program's file, beside the description.
    pub file: String,
    /// The hash of that file, in hexadecimal digits.
    pub sha256: String,
}

/// The releases at an address.
#[derive(Debug)]
pub struct ReleaseSource {
    base: Url,
    client: Client,
}

impl ReleaseSource {
    /// Releases below this address, which must be one of HTTPS, or of this machine.
    pub fn new(base: &str) -> anyhow::Result<ReleaseSource> {
        let base = Url::parse(&format!("{}/", base.trim_end_matches('/')))
            .with_context(|| format!("`{base}` is not a URL"))?;
        let is_local = matches!(base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        ensure!(
            base.scheme() == "https" || (base.scheme() == "http" && is_local),
            "{base} is not an https address; a program is not downloaded over an open connection"
        );
        // Fails only if a provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT);
        let builder = if is_local { builder.tls_certs_only([]).no_proxy() } else { builder };
        Ok(ReleaseSource { base, client: builder.build()? })
    }

    /// The newest release.
    pub async fn latest(&self) -> anyhow::Result<Release> {
        let mut response = self.get("latest.json").await?;
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            text.extend_from_slice(&chunk);
            ensure!(text.len() as u64 <= MAX_DESCRIPTION_BYTES, "latest.json is too large");
        }
        let release: Release =
            serde_json::from_slice(&text).context("latest.json does not describe a release")?;
        let is_hash =
            release.sha256.len() == 64 && release.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        ensure!(is_hash, "latest.json has no SHA-256 hash");
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_name =
            !release.file.is_empty() && !release.file.starts_with('.') && release.file.chars().all(plain);
        ensure!(is_name, "latest.json does not name a file beside it");
        let is_version = !release.version.is_empty() && release.version.chars().all(|c| plain(c) || c == '+');
        ensure!(is_version, "latest.json has no version");
        Ok(release)
    }

    /// Puts a release in the place of a program. The program is as it was if anything fails.
    pub async fn install(&self, release: &Release, program: &Path) -> anyhow::Result<()> {
        ensure!(
            runs_here(&release.target),
            "the release is for {}, and this machine is {}-{}",
            release.target,
            std::env::consts::ARCH,
            std::env::consts::OS
        );
        let program =
            program.canonicalize().with_context(|| format!("{} cannot be found", program.display()))?;
        let failed = || format!("{} cannot be replaced", program.display());
        let mut response = self.get(&release.file).await?;
        let mut replacement = Replacement::begin(&program, ReplaceOptions::USER_FILE).with_context(failed)?;
        let (mut hash, mut size) = (Sha256::new(), 0u64);
        while let Some(chunk) = response.chunk().await? {
            size += chunk.len() as u64;
            ensure!(size <= MAX_PROGRAM_BYTES, "{} is too large", release.file);
            hash.update(&chunk);
            replacement.write_all(&chunk).with_context(failed)?;
        }
        let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        ensure!(
            found.eq_ignore_ascii_case(&release.sha256),
            "the hash of {} is {found}, not {} as latest.json says; nothing was replaced",
            release.file,
            release.sha256
        );
        replacement.finish().with_context(failed)?;
        Ok(())
    }

    async fn get(&self, name: &str) -> anyhow::Result<Response> {
        let url = self.base.join(name)?;
        let response = self.client.get(url.clone()).send().await;
        let response = response.with_context(|| format!("{url} cannot be downloaded"))?;
        ensure!(response.status().is_success(), "{url} answered {}", response.status());
        Ok(response)
    }
}

/// Whether a version is newer than another. What is no number counts as zero.
pub fn is_newer(version: &str, than: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        let release = text.split(['-', '+']).next().unwrap_or(text);
        release.split('.').map(|number| number.parse().unwrap_or(0)).collect()
    };
    numbers(version) > numbers(than)
}

fn runs_here(target: &str) -> bool {
    let mut parts = target.split('-');
    parts.next() == Some(std::env::consts::ARCH) && parts.any(|part| part == std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::{ReleaseSource, is_newer};

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_newer("0.10.0", "0.9.9") && is_newer("1.0", "0.1.0"));
        assert!(
            !is_newer("0.1.0", "0.1.0") && !is_newer("0.1.0", "0.2.0") && !is_newer("0.1.0-rc1", "0.1.0")
        );
    }

    #[test]
    fn programs_come_over_https_only() {
        for base in ["http://example.org/x", "ftp://127.0.0.1/", "file:///etc", "nonsense"] {
            assert!(ReleaseSource::new(base).is_err(), "{base}");
        }
        assert!(ReleaseSource::new("http://127.0.0.1:1/releases").is_ok());
    }
}
