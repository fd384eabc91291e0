//! Variables that decide which code a program loads, runs or obeys, whatever program it is. They are for the
//! owner of a machine to set; a workspace, a server or an editor that asks for one is refused.

/// What the names begin with.
const PREFIXES: &[&str] = &[
    "LD_",
    "DYLD_",
    "GLIBC_",
    "MALLOC_",
    "GIT_",
    "PYTHON",
    "NPM_CONFIG_",
    "BASH_",
    "PERL",
    "RUBY",
    "JAVA_",
    "JDK_",
    "LUA_",
    "GCC_",
    "RUSTC_",
    "CARGO_",
    "OSTLER_",
    "DOTNET_",
    "CORECLR_",
    "PHP",
    "GCONV_",
    "OPENSSL_",
    "SSL_",
];

/// The whole names.
const NAMES: &[&str] = &[
    "ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "PS4",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "LOCPATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "HOSTALIASES",
    "GETCONF_DIR",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TERMCAP",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "GOFLAGS",
    "GOROOT",
    "MAKEFLAGS",
    "MAKEFILES",
    "DENO_DIR",
    "R_PROFILE",
    "R_ENVIRON",
    "HOME",
    "TMPDIR",
];

/// What begins like one and is none: usual settings of servers.
const HARMLESS: &[&str] =
    &["PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "SSL_VERIFY"];

/// Whether a variable makes programs load or run code, or look for their settings elsewhere.
pub fn is_loader_variable(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_known = NAMES.contains(&upper.as_str()) || PREFIXES.iter().any(|prefix| upper.starts_with(prefix));
    is_known && !HARMLESS.contains(&upper.as_str())
}

#[cfg(test)]
mod tests {
    use super::is_loader_variable;

    #[test]
    fn what_loads_code_is_told_from_what_configures_a_server() {
        for name in [
            "LD_PRELOAD",
            "ld_library_path",
            "LD_AUDIT",
            "GLIBC_TUNABLES",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "ENV",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "NODE_PATH",
            "PERL5OPT",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "GCONV_PATH",
            "OSTLER_CHILD_X",
        ] {
            assert!(is_loader_variable(name), "{name}");
        }
        for name in [
            "API_KEY",
            "LOG_LEVEL",
            "DATABASE_URL",
            "PORT",
            "DEBUG",
            "NODE_ENV",
            "PYTHONUNBUFFERED",
            "TZ",
            "LANG",
            "PATH",
        ] {
            assert!(!is_loader_variable(name), "{name}");
        }
    }
}
