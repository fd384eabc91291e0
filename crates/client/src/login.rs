//! Letting a browser in: a one-time code for the page.

use hyper::Method;
use ostler_api_types::LoginCode;

use crate::requests::EmptyBody;
use crate::{Client, ClientError};

impl Client {
    /// Makes a code that lets one browser in.
    pub async fn login_code(&self) -> Result<LoginCode, ClientError> {
        self.request(Method::POST, "/v1/login/code", &EmptyBody {}).await
    }
}
