//! The table of keys with a fixed name. Tells the layers how to read a value that comes as text, and
//! `config show` and the documentation what there is. Providers and agents have names of the user's
//! choosing, so they are not in it.

/// A key, and how its value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigKey {
    /// Section and name, with a dot.
    pub path: &'static str,
    pub(crate) form: ConfigValueForm,
    /// Whether this build acts on it.
    pub is_supported: bool,
}

/// How a value is written where everything is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigValueForm {
    /// As it is.
    Text,
    /// In digits.
    Number,
    /// In digits, with a point where one is needed.
    Decimal,
    /// `true` or `false`.
    Switch,
    /// With commas between the elements.
    List,
    /// Not at all: its elements are tables.
    FileOnly,
}

impl ConfigKey {
    /// The environment variable that sets it, if one can.
    pub fn variable(&self) -> Option<String> {
        match self.form {
            ConfigValueForm::Text
            | ConfigValueForm::Number
            | ConfigValueForm::Decimal
            | ConfigValueForm::Switch
            | ConfigValueForm::List => {
                Some(format!("{PREFIX}{}", self.path.replace('.', "_").to_uppercase()))
            }
            ConfigValueForm::FileOnly => None,
        }
    }
}

/// How every variable of ours begins.
pub(crate) const PREFIX: &str = "OSTLER_";

/// Variables of ours that set no key.
pub(crate) const OTHER_VARIABLES: [&str; 5] =
    ["OSTLER_DATA_DIR", "OSTLER_CONFIG", "OSTLER_LOG", "OSTLER_THEME", "OSTLER_IMAGES"];

/// Every key with a fixed name, in the order in which they are shown.
pub const CONFIG_KEYS: [ConfigKey; 39] = [
    key("server.listen", ConfigValueForm::Text),
    key("server.auth", ConfigValueForm::Text),
    key("models.default", ConfigValueForm::Text),
    key("models.fallback", ConfigValueForm::List),
    key("models.prefer", ConfigValueForm::List),
    key("models.require", ConfigValueForm::List),
    key("models.max_input_price", ConfigValueForm::Decimal),
    key("models.max_output_price", ConfigValueForm::Decimal),
    key("models.discover", ConfigValueForm::Switch),
    key("models.info", ConfigValueForm::FileOnly),
    key("approval.require_for_kinds", ConfigValueForm::List),
    key("approval.require_for_tools", ConfigValueForm::List),
    key("approval.rules", ConfigValueForm::FileOnly),
    key("approval.safe_commands", ConfigValueForm::Switch),
    key("verify.auto", ConfigValueForm::Switch),
    key("verify.commands", ConfigValueForm::List),
    key("verify.require_clean", ConfigValueForm::Switch),
    key("verify.max_rounds", ConfigValueForm::Number),
    key("patch_review.mode", ConfigValueForm::Text),
    key("loop.max_steps", ConfigValueForm::Number),
    key("context.bundle", ConfigValueForm::Switch),
    key("context.bundle_tokens", ConfigValueForm::Number),
    key("context.compact_at_percent", ConfigValueForm::Number),
    key("context.skills", ConfigValueForm::List),
    key("logging.streams", ConfigValueForm::List),
    key("sandbox.mode", ConfigValueForm::Text),
    key("sandbox.network", ConfigValueForm::Switch),
    key("sandbox.writable", ConfigValueForm::List),
    key("sandbox.home", ConfigValueForm::Text),
    key("sandbox.readable", ConfigValueForm::List),
    key("web.fetch", ConfigValueForm::Switch),
    key("gateway.enabled", ConfigValueForm::Switch),
    key("gateway.listen", ConfigValueForm::Text),
    key("gateway.workspace", ConfigValueForm::Text),
    key("gateway.max_frame_bytes", ConfigValueForm::Number),
    key("gateway.max_sockets", ConfigValueForm::Number),
    key("gateway.max_unauthenticated", ConfigValueForm::Number),
    key("gateway.auth_timeout_seconds", ConfigValueForm::Number),
    key("gateway.ping_seconds", ConfigValueForm::Number),
];

const fn key(path: &'static str, form: ConfigValueForm) -> ConfigKey {
    ConfigKey { path, form, is_supported: true }
}
