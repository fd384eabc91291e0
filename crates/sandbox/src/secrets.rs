//! Where people keep secrets. The list is of places that programs are known to use; a secret elsewhere
//! is hidden by naming it.

use std::path::{Path, PathBuf};

/// Places below the home directory.
const IN_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".vault-token",
    ".password-store",
    ".pgpass",
    ".my.cnf",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".terraform.d",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/git/credentials",
    ".config/gcloud",
    ".config/doctl",
    ".config/heroku",
    ".config/op",
    ".config/rclone",
    ".config/containers",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/Code",
    ".config/Cursor",
    ".config/ostler",
    ".config/opencode",
    ".local/share/keyrings",
    ".local/share/opencode",
    ".local/share/uv/credentials",
    ".mozilla",
    ".thunderbird",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".cursor",
];

/// Places of the system that root could read without any capability.
const IN_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/ssl/private",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/kubernetes",
    "/var/cache/debconf/passwords.dat",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/lib/sss",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/fs/bpf",
];

/// Those of them that exist, without links.
pub(crate) fn resolved_secret_places(home: &Path) -> Vec<PathBuf> {
    let places = secret_places(home).into_iter();
    places.filter_map(|place| resolve_existing(&place)).collect()
}

/// A path without links, if it exists. Most of those that are asked for do not, and resolving takes a system call for each
/// name on the way, so that is asked first.
pub(crate) fn resolve_existing(path: &Path) -> Option<PathBuf> {
    path.symlink_metadata().ok()?;
    path.canonicalize().ok()
}

/// The places where programs of this user and of the system keep secrets, whether they exist or not. What
/// reads files without the sandbox asks for them too, so that both hide the same.
pub fn secret_places(home: &Path) -> Vec<PathBuf> {
    let in_home = IN_HOME.iter().map(|place| home.join(place));
    in_home.chain(IN_SYSTEM.iter().map(PathBuf::from)).collect()
}
