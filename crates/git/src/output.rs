//! What git said.

use crate::error::GitError;

/// What git said, and how it ended.
#[derive(Debug)]
pub struct GitOutput {
    /// Whether it did what was asked.
    pub is_success: bool,
    /// What it ended with; none when it was killed.
    pub code: Option<i32>,
    /// Its answer.
    pub stdout: Vec<u8>,
    /// Whether there was more.
    pub is_cut: bool,
    /// What it said beside it.
    pub stderr: String,
}

impl GitOutput {
    /// The same, or an error that names the command.
    pub fn expect_success(self, what: &str) -> Result<GitOutput, GitError> {
        if self.is_success {
            return Ok(self);
        }
        Err(GitError::new(format!("`git {what}` failed: {}", self.stderr.trim())))
    }

    /// The whole answer. One that was cut is none.
    pub(crate) fn complete_stdout(self, what: &str) -> Result<Vec<u8>, GitError> {
        let output = self.expect_success(what)?;
        if output.is_cut {
            return Err(GitError::new(format!("`git {what}` has more to say than can be read here.")));
        }
        Ok(output.stdout)
    }

    /// The only line of the answer.
    pub(crate) fn single_line(self, what: &str) -> Result<String, GitError> {
        let text = String::from_utf8_lossy(&self.complete_stdout(what)?).into_owned();
        Ok(text.trim_end_matches('\n').to_owned())
    }
}
