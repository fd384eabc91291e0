//! The http door: the native API, with events over SSE and NDJSON, and the page. `docs/http.md` describes it for
//! the people who write clients; the OpenAPI document is made from the same table as the routes.

#![warn(clippy::wildcard_enum_match_arm)]

mod agents;
mod api;
mod approvals;
mod artifacts;
mod attachments;
mod branch;
mod built_page;
mod context;
mod create_session;
mod directories;
mod download;
mod events;
mod export;
mod extract;
mod hints;
mod import;
mod login;
mod messages;
mod models_and_tools;
mod multipart;
mod openapi;
mod page;
mod policy;
mod projects;
mod scratch;
mod sessions;
mod settings;
mod trust;
mod turn_diff;
mod undo;
mod usage;
mod workspace_files;

use std::sync::Arc;

use axum::extract::FromRef;
use ostler_door_kit::{Admission, DoorContext, Logins, Routes};
use tokio::sync::Semaphore;

use api::{HEALTH, LOGIN};
pub use built_page::file as built_page;
use export::ExportSlots;
pub use page::PageFiles;
use scratch::ScratchDirectory;
pub use settings::ConfigurationInfo;

/// The http door. Cheap to clone.
#[derive(Clone)]
pub struct HttpDoor {
    context: DoorContext,
    /// The page and who is logged in there, if there is one.
    page: Option<PageFiles>,
    logins: Option<Arc<Logins>>,
    exports: ExportSlots,
    /// Lets in one import at a time.
    imports: Arc<Semaphore>,
    scratch: ScratchDirectory,
    configuration: Option<Arc<ConfigurationInfo>>,
}

/// Most routes need no more than any door does.
impl FromRef<HttpDoor> for DoorContext {
    fn from_ref(door: &HttpDoor) -> DoorContext {
        door.context.clone()
    }
}

impl HttpDoor {
    /// A door to the engine of this context.
    pub fn new(context: DoorContext) -> HttpDoor {
        let scratch = ScratchDirectory::new(context.engine.data_dir());
        HttpDoor {
            context,
            page: None,
            logins: None,
            exports: ExportSlots::new(),
            imports: Arc::new(Semaphore::new(1)),
            scratch,
            configuration: None,
        }
    }

    /// The same door, which serves a page and logs browsers in.
    #[must_use]
    pub fn with_page(self, page: PageFiles, logins: Arc<Logins>) -> HttpDoor {
        HttpDoor { page: Some(page), logins: Some(logins), ..self }
    }

    /// The same door, which tells how the daemon is set up.
    #[must_use]
    pub fn with_configuration(self, configured: ConfigurationInfo) -> HttpDoor {
        HttpDoor { configuration: Some(Arc::new(configured)), ..self }
    }

    /// All routes of this door.
    pub fn routes(&self) -> Routes {
        let routes = Routes::new(api::api().into_router(self.clone()))
            .admit(HEALTH, Admission::Public)
            .admit(LOGIN, Admission::Public)
            .with_unknown_path_hint(hints::API_HINT);
        match self.page {
            Some(files) => routes.with_public_files(Arc::new(move |request| page::answer(files, request))),
            None => routes,
        }
    }
}

/// The OpenAPI document.
pub fn openapi() -> serde_json::Value {
    api::api().into_document()
}

#[cfg(test)]
mod tests {
    use super::openapi;

    /// Whoever changes a body or an answer sees it here first; `cargo xtask generate` writes the file anew.
    #[test]
    fn the_document_in_docs_is_this_one() {
        let (made, kept) = (format!("{:#}\n", openapi()), include_str!("../../../docs/openapi.json"));
        let differs = made.lines().zip(kept.lines()).enumerate().find(|(_, (made, kept))| made != kept);
        assert_eq!(differs, None, "run `cargo xtask generate`, if that is meant");
        assert_eq!(made.len(), kept.len());
    }
}
