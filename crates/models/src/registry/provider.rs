//! A provider as its user describes it. Speaking to it is left to the protocols.

use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;

use crate::{ProviderKey, ProviderPreset};

/// A provider, as configured.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// What comes before the colon in a model's name.
    pub name: String,
    /// The protocol that it speaks.
    pub kind: ProviderKind,
    /// Where its endpoints lie, such as `https://api.openai.com/v1`. Must come from the user, never
    /// from a workspace, since the key is sent there.
    pub base_url: String,
    /// The key, if it wants one.
    pub api_key: ProviderKey,
    /// Where the key comes from, in words such as `the variable OPENAI_API_KEY`, for whoever has to put
    /// another one there.
    pub key_from: Option<String>,
    /// The models to offer. Others of the provider can be used by name; the first is the default.
    pub models: Vec<String>,
    /// The preset that it was made from, whose prices then hold; without one, the host decides.
    pub preset: Option<&'static str>,
    /// Whether somebody wrote it down, rather than that it came with this program.
    pub configured: bool,
    /// Whether it can be used now.
    pub readiness: ProviderReadiness,
    /// What a [`ProviderKind::Replay`] answers from.
    pub recording: Option<PathBuf>,
}

impl ProviderConfig {
    /// A provider without a key, of which nothing else is known.
    pub fn new(name: impl Into<String>, kind: ProviderKind, base_url: impl Into<String>) -> ProviderConfig {
        ProviderConfig {
            name: name.into(),
            kind,
            base_url: base_url.into(),
            api_key: ProviderKey::None,
            key_from: None,
            models: Vec::new(),
            preset: None,
            configured: true,
            readiness: ProviderReadiness::default(),
            recording: None,
        }
    }

    /// Whether it has to be asked what it has before it is known to be there: it wants no key, so that
    /// nothing else says whether anybody uses it.
    pub(crate) fn is_keyless(&self) -> bool {
        matches!(self.api_key, ProviderKey::None)
            && self.readiness.is_certain()
            && self.kind != ProviderKind::Replay
    }

    /// Where its key comes from, in words.
    pub(crate) fn key_source_text(&self) -> &str {
        self.key_from.as_deref().unwrap_or("where `ostler config show` says")
    }

    /// Whether nobody sends a bill: it runs on this machine, and wants no key as one would that passes
    /// requests on to somebody who does.
    pub(crate) fn is_free(&self) -> bool {
        self.kind == ProviderKind::Replay
            || (self.is_local()
                && matches!(self.api_key, ProviderKey::None)
                && self.catalogue_preset().is_none())
    }

    /// Whether it runs on this machine.
    pub(crate) fn is_local(&self) -> bool {
        Url::parse(&self.base_url).is_ok_and(|url| {
            let host = url.host_str().unwrap_or_default();
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    }

    /// The part of the catalogue that has its prices: that of its preset, or of whose host it is.
    pub(crate) fn catalogue_preset(&self) -> Option<&'static ProviderPreset> {
        let hosted = |preset: &&ProviderPreset| !preset.key_variables.is_empty();
        match self.preset {
            Some(name) => ProviderPreset::named(name).filter(hosted),
            None => ProviderPreset::on_host(Url::parse(&self.base_url).ok()?.host_str()?),
        }
    }
}

/// The protocols that providers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// OpenAI's Chat Completions, which most other servers speak too.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// None: it answers from a recording.
    Replay,
}

impl ProviderKind {
    /// The protocol's own name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ProviderKind::OpenAiChat => "OpenAI Chat Completions",
            ProviderKind::OpenAiResponses => "OpenAI Responses",
            ProviderKind::Anthropic => "Anthropic Messages",
            ProviderKind::Replay => "recordings",
        }
    }

    /// Where the endpoints of its maker lie.
    pub(crate) fn default_base_url(self) -> &'static str {
        match self {
            ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses => "https://api.openai.com/v1",
            ProviderKind::Anthropic => "https://api.anthropic.com",
            ProviderKind::Replay => "",
        }
    }
}

/// Says what a provider lacks before it can be used. Asked anew each time, since a file may come later.
#[derive(Clone, Default)]
pub struct ProviderReadiness(Option<Arc<dyn Fn() -> Option<String> + Send + Sync>>);

impl ProviderReadiness {
    /// A provider that may lack something: what this says is missing, with what to do about it.
    pub fn from_check(missing: impl Fn() -> Option<String> + Send + Sync + 'static) -> ProviderReadiness {
        ProviderReadiness(Some(Arc::new(missing)))
    }

    /// What is missing, and what to do about it.
    pub fn missing(&self) -> Option<String> {
        self.0.as_ref().and_then(|missing| missing())
    }

    fn is_certain(&self) -> bool {
        self.0.is_none()
    }
}

impl std::fmt::Debug for ProviderReadiness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_certain() { "Readiness(certain)" } else { "Readiness(checked)" })
    }
}
