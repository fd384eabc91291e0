//! The table of keys with a fixed name. Tells the layers how to read a value that comes as text, and
//! `config show` and the documentation what there is. Providers and agents have names of the user's
//! choosing, so they are not in it.

/// A key, and how its value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Section and name, with a dot.
    pub path: &'static str,
    pub(crate) form: Form,
    /// Whether this build acts on it.
    pub works: bool,
}

/// How a value is written where everything is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
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

impl Key {
    /// The environment variable that sets it, if one can.
    pub fn variable(&self) -> Option<String> {
        match self.form {
            Form::Text | Form::Number | Form::Decimal | Form::Switch | Form::List => {
                Some(format!("{PREFIX}{}", self.path.replace('.', "_").to_uppercase()))
            }
            Form::FileOnly => None,
        }
    }
}

/// How every variable of ours begins.
pub(crate) const PREFIX: &str = "OSTLER_";

/// Variables of ours that set no key.
pub(crate) const OTHER_VARIABLES: [&str; 5] =
    ["OSTLER_DATA_DIR", "OSTLER_CONFIG", "OSTLER_LOG", "OSTLER_THEME", "OSTLER_IMAGES"];

/// Every key with a fixed name, in the order in which they are shown.
pub const KEYS: [Key; 39] = [
    key("server.listen", Form::Text),
    key("server.auth", Form::Text),
    key("models.default", Form::Text),
    key("models.fallback", Form::List),
    key("models.prefer", Form::List),
    key("models.require", Form::List),
    key("models.max_input_price", Form::Decimal),
    key("models.max_output_price", Form::Decimal),
    key("models.discover", Form::Switch),
    key("models.info", Form::FileOnly),
    key("approval.require_for_kinds", Form::List),
    key("approval.require_for_tools", Form::List),
    key("approval.rules", Form::FileOnly),
    key("approval.safe_commands", Form::Switch),
    key("verify.auto", Form::Switch),
    key("verify.commands", Form::List),
    key("verify.require_clean", Form::Switch),
    key("verify.max_rounds", Form::Number),
    key("patch_review.mode", Form::Text),
    key("loop.max_steps", Form::Number),
    key("context.bundle", Form::Switch),
    key("context.bundle_tokens", Form::Number),
    key("context.compact_at_percent", Form::Number),
    key("context.skills", Form::List),
    key("logging.streams", Form::List),
    key("sandbox.mode", Form::Text),
    key("sandbox.network", Form::Switch),
    key("sandbox.writable", Form::List),
    key("sandbox.home", Form::Text),
    key("sandbox.readable", Form::List),
    key("web.fetch", Form::Switch),
    key("gateway.enabled", Form::Switch),
    key("gateway.listen", Form::Text),
    key("gateway.workspace", Form::Text),
    key("gateway.max_frame_bytes", Form::Number),
    key("gateway.max_sockets", Form::Number),
    key("gateway.max_unauthenticated", Form::Number),
    key("gateway.auth_timeout_seconds", Form::Number),
    key("gateway.ping_seconds", Form::Number),
];

const fn key(path: &'static str, form: Form) -> Key {
    Key { path, form, works: true }
}
