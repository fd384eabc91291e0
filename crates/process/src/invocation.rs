//! What is started, and with what: a program by its absolute path, its arguments, its directory, and an
//! environment that is built from nothing.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tokio::process::{Child, Command};

use crate::finder::ProgramFinder;

/// Where the system keeps its programs. A project can put nothing there.
const SYSTEM_DIRECTORIES: [&str; 6] =
    ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"];
/// The image that this process runs, also after the file was replaced or removed.
const OWN_IMAGE: &str = "/proc/self/exe";

/// A program by its absolute path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    /// The name that it is called by, where that is not its path: some programs do different things by it.
    name: Option<OsString>,
}

impl Program {
    /// A program of the system, looked for in the system's directories and never in PATH.
    pub fn from_system(name: &str) -> Option<Program> {
        let candidates = SYSTEM_DIRECTORIES.iter().map(|directory| Path::new(directory).join(name));
        candidates.into_iter().find(|path| is_executable(path)).map(Program::at)
    }

    /// The program that this process runs. Whatever lies at its path by now does not count.
    pub fn current_executable() -> Program {
        Program::at(PathBuf::from(OWN_IMAGE))
    }

    /// A program that the caller answers for, such as one that lies inside a sandbox or that a test has made.
    /// Not for a name that a workspace, a model or a PATH has a say in.
    ///
    /// # Panics
    /// When the path is not absolute.
    pub fn at(path: PathBuf) -> Program {
        assert!(path.is_absolute(), "a program is started by its absolute path, not as {}", path.display());
        Program { path, name: None }
    }

    /// The same, called by another name than its path.
    #[must_use]
    pub fn with_name(self, name: OsString) -> Program {
        Program { name: Some(name), ..self }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it was found: a link to where it lies, or the same.
    pub fn found_at(&self) -> &Path {
        self.name.as_ref().map_or(&self.path, |name| Path::new(name))
    }
}

/// Whether a file can be run by somebody.
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let found = std::fs::metadata(path);
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// A process to be. Its environment is empty, it starts in the root directory and reads nothing, unless it is
/// told otherwise.
#[derive(Debug)]
pub struct Invocation {
    program: Program,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
}

impl Invocation {
    /// Runs this program.
    pub fn new(program: Program) -> Invocation {
        Invocation { program, arguments: Vec::new(), environment: Vec::new(), directory: PathBuf::from("/") }
    }

    /// With these arguments, after those given before.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Invocation {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// With these variables, which replace earlier ones of the same name.
    #[must_use]
    pub fn envs(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Invocation {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.environment.extend(variables);
        self
    }

    /// With this process's own environment, whole: for this program again, and for lines that the person at the terminal
    /// typed. Others get [`environment`](crate::ProgramFinder::environment).
    #[must_use]
    pub fn inherit_environment(self) -> Invocation {
        self.envs(std::env::vars_os())
    }

    /// With what of this process's own environment a program with more rights than a sandboxed command may have.
    #[must_use]
    pub fn inherit_open_environment(self, programs: &ProgramFinder) -> Invocation {
        self.envs(programs.environment(std::env::vars_os()))
    }

    /// In the directory that this process is in.
    #[must_use]
    pub fn inherit_directory(self) -> Invocation {
        self.current_dir("/proc/self/cwd")
    }

    /// In this directory.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Invocation {
        self.directory = directory.into();
        self
    }

    /// Makes it a command of which only the pipes are left to choose. It ends with whoever holds its process.
    pub fn prepare(self) -> PreparedCommand {
        let mut command = Command::new(&self.program.path);
        if let Some(name) = &self.program.name {
            command.arg0(name);
        }
        command.args(self.arguments).env_clear().envs(self.environment).current_dir(self.directory);
        command.stdin(Stdio::null()).kill_on_drop(true);
        PreparedCommand(command)
    }
}

/// A command whose program, arguments, directory and environment are settled.
#[derive(Debug)]
pub struct PreparedCommand(Command);

impl PreparedCommand {
    /// Where it reads from; from nothing unless this is called.
    pub fn stdin(&mut self, from: impl Into<Stdio>) -> &mut PreparedCommand {
        self.0.stdin(from);
        self
    }

    /// Where it prints to; where this process does unless this is called.
    pub fn stdout(&mut self, to: impl Into<Stdio>) -> &mut PreparedCommand {
        self.0.stdout(to);
        self
    }

    /// Where its errors go; where those of this process do unless this is called.
    pub fn stderr(&mut self, to: impl Into<Stdio>) -> &mut PreparedCommand {
        self.0.stderr(to);
        self
    }

    /// Puts it into a process group of its own, with all that it starts.
    pub fn own_group(&mut self) -> &mut PreparedCommand {
        self.0.process_group(0);
        self
    }

    /// Starts it.
    pub fn spawn(&mut self) -> io::Result<Child> {
        self.0.spawn()
    }

    /// Lets it go on when whoever holds its process is gone.
    pub fn detach(&mut self) -> &mut PreparedCommand {
        self.0.kill_on_drop(false);
        self
    }

    /// Runs it to its end, and keeps all that it prints: for programs that print little.
    pub async fn output(&mut self) -> io::Result<Output> {
        self.0.output().await
    }
}
