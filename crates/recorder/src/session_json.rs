//! `session.json`: the session as clients see it, for whoever looks into its folder.

use std::path::Path;

use ostler_types::SessionView;

use crate::RecorderError;
use crate::replace::replace;

const NAME: &str = "session.json";

/// Writes the view into the session's folder, in place of the one before.
pub fn write_session(dir: &Path, view: &SessionView) -> Result<(), RecorderError> {
    let mut json = serde_json::to_vec_pretty(view)
        .map_err(|error| RecorderError { path: dir.join(NAME), source: error.into() })?;
    json.push(b'\n');
    replace(dir, NAME, &json)
}
