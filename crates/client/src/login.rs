//! Letting a browser in: a one-time code for the page.

use hyper::Method;
use serde::{Deserialize, Serialize};

use crate::requests::Nothing;
use crate::{Client, ClientError};

/// A way in for a browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginCode {
    /// What to open: the page, with a one-time code behind the `#`.
    pub address: String,
    /// Until when the code can be used, in UTC.
    pub expires_at: String,
}

impl Client {
    /// Makes a code that lets one browser in.
    pub async fn login_code(&self) -> Result<LoginCode, ClientError> {
        self.ask(Method::POST, "/v1/login/code", &Nothing {}).await
    }
}
