//! Names, and what a registry shows of itself.

use super::{ModelRegistry, ProviderConfig, ProviderKind};
use crate::{ProviderKey, Secret};

fn provider(name: &str, models: &[&str]) -> ProviderConfig {
    ProviderConfig {
        api_key: ProviderKey::Fixed(Secret::new("sk-hidden")),
        models: models.iter().map(|&model| model.to_owned()).collect(),
        ..ProviderConfig::new(name, ProviderKind::OpenAiChat, "http://127.0.0.1:9/v1")
    }
}

#[test]
fn names_are_understood_in_both_spellings() {
    let models = ModelRegistry::new(vec![provider("local", &["small", "large"]), provider("router", &[])]);
    let fine = [
        "demo",
        "demo:demo",
        "demo/demo",
        "local",
        "local:small",
        "local/new",
        "router/a/b:free",
        " local:small ",
    ];
    for name in fine {
        assert!(models.resolve(name).is_ok(), "{name}");
    }
    for name in ["", "nobody", "nobody:small", "small", "demo:other", "router", "router:", ":small"] {
        assert_eq!(models.resolve(name).err().map(|error| error.code), Some("unknown_model"), "{name}");
    }
    assert_eq!(models.names(), ["demo:demo", "local:small", "local:large"]);
}

#[test]
fn an_unknown_name_says_what_there_is() {
    let models = ModelRegistry::new(vec![provider("local", &["small"]), provider("router", &[])]);
    let error = models.resolve("gpt-9").err().unwrap();
    assert_eq!(error.message, "there is no model `gpt-9`; there are demo:demo, local:small, router:…");
    assert!(error.hint.unwrap().contains("[providers.NAME]"));
}

#[test]
fn the_demo_cannot_be_replaced_and_the_last_of_a_name_counts() {
    let again = vec![provider("demo", &["fake"]), provider("local", &["old"]), provider("local", &["new"])];
    assert_eq!(ModelRegistry::new(again).names(), ["demo:demo", "local:new"]);
}

#[test]
fn a_bad_address_is_told_before_anything_is_sent() {
    for base_url in ["", "localhost:8080", "ftp://example.org", "not a url"] {
        let config = ProviderConfig { base_url: base_url.to_owned(), ..provider("local", &["small"]) };
        let error = ModelRegistry::new(vec![config]).resolve("local:small").err().unwrap();
        assert_eq!(error.code, "bad_base_url", "{base_url}");
    }
}

#[test]
fn a_replay_needs_its_recording() {
    let config = ProviderConfig { kind: ProviderKind::Replay, ..provider("again", &[]) };
    assert_eq!(ModelRegistry::new(vec![config]).resolve("again").err().unwrap().code, "bad_recording");
}

#[test]
fn no_key_is_shown() {
    assert!(!format!("{:?}", ModelRegistry::new(vec![provider("local", &["small"])])).contains("sk-hidden"));
}
