//! Pictures and files on their way to a model: what can be sent, and what is said in the place of the
//! rest.
//!
//! What the newest message of the user holds and the model cannot take is refused before anything is
//! sent. Older ones, and those that a model has answered, become a note, since a conversation must go on
//! when its model changes. How each
//! protocol lays a picture out is left to it.

use std::collections::HashMap;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ostler_types::{Ability, Role};
use serde::{Serialize, Serializer};

use crate::profile::ModelProfile;
use crate::{ModelError, ModelRequest};

/// The longest text file that is put into a message, in bytes.
const MAX_TEXT: usize = 512 * 1024;

/// What becomes of a picture or a file.
#[derive(Debug)]
pub(crate) enum EncodedAttachment<'a> {
    Image(AttachmentData<'a>),
    /// A document under its name.
    Document(&'a str, AttachmentData<'a>),
    /// The text of a file, or a note.
    Text(String),
}

/// Bytes and their type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttachmentData<'a> {
    pub(crate) mime_type: &'static str,
    pub(crate) bytes: &'a [u8],
}

/// The largest that a provider takes, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttachmentLimits {
    pub(crate) image: usize,
    pub(crate) document: usize,
}

/// The attachments of one request.
#[derive(Debug)]
pub(crate) struct RequestAttachments<'a> {
    profile: &'a ModelProfile,
    files: &'a HashMap<String, Bytes>,
    limits: AttachmentLimits,
    /// The place of the user's newest message, until it has been answered.
    newest: Option<usize>,
}

impl<'a> RequestAttachments<'a> {
    pub(crate) fn new(
        profile: &'a ModelProfile,
        request: &'a ModelRequest,
        limits: AttachmentLimits,
    ) -> RequestAttachments<'a> {
        let messages = &request.messages;
        let newest = messages.iter().rposition(|message| message.role == Role::User);
        let newest =
            newest.filter(|&place| messages[place..].iter().all(|message| message.role != Role::Assistant));
        RequestAttachments { profile, files: &request.files, limits, newest }
    }

    /// A picture in the message at this place of the conversation.
    pub(crate) fn image(
        &self,
        place: usize,
        reference: &'a str,
        mime_type: &str,
    ) -> Result<EncodedAttachment<'a>, ModelError> {
        self.checked(place, "image", reference, self.picture_data(reference, mime_type))
    }

    /// A file in the message at this place of the conversation.
    pub(crate) fn file(
        &self,
        place: usize,
        reference: &'a str,
        mime_type: &str,
    ) -> Result<EncodedAttachment<'a>, ModelError> {
        self.checked(place, "file", reference, self.file_data(reference, mime_type))
    }

    /// A sound, which no protocol here can send.
    pub(crate) fn audio(
        &self,
        place: usize,
        reference: &'a str,
    ) -> Result<EncodedAttachment<'a>, ModelError> {
        self.checked(place, "audio", reference, Err(AttachmentProblem::Audio))
    }

    /// A picture in the result of a call. Nobody is there to take it back, so it is never refused.
    pub(crate) fn picture(&self, reference: &'a str, mime_type: &str) -> EncodedAttachment<'a> {
        self.picture_data(reference, mime_type)
            .unwrap_or_else(|problem| EncodedAttachment::Text(problem.note("image", reference)))
    }

    fn checked(
        &self,
        place: usize,
        what: &str,
        reference: &str,
        attached: Result<EncodedAttachment<'a>, AttachmentProblem>,
    ) -> Result<EncodedAttachment<'a>, ModelError> {
        match attached {
            Ok(attached) => Ok(attached),
            Err(problem) if self.newest == Some(place) => {
                Err(problem.refusal(what, reference, &self.profile.info.name))
            }
            Err(problem) => Ok(EncodedAttachment::Text(problem.note(what, reference))),
        }
    }

    fn picture_data(
        &self,
        reference: &'a str,
        mime_type: &str,
    ) -> Result<EncodedAttachment<'a>, AttachmentProblem> {
        if self.profile.info.cannot(Ability::Vision) {
            return Err(AttachmentProblem::Blind);
        }
        let mime_type =
            image_type(mime_type).ok_or_else(|| AttachmentProblem::ImageType(mime_type.to_owned()))?;
        let bytes = self.bytes(reference, self.limits.image)?;
        Ok(EncodedAttachment::Image(AttachmentData { mime_type, bytes }))
    }

    fn file_data(
        &self,
        reference: &'a str,
        mime_type: &str,
    ) -> Result<EncodedAttachment<'a>, AttachmentProblem> {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        if image_type(mime_type).is_some() {
            return self.picture_data(reference, mime_type);
        }
        if essence(mime_type) == PDF {
            if self.profile.info.cannot(Ability::Files) {
                return Err(AttachmentProblem::NoFiles);
            }
            let bytes = self.bytes(reference, self.limits.document)?;
            return Ok(EncodedAttachment::Document(name, AttachmentData { mime_type: PDF, bytes }));
        }
        if !is_text(mime_type) {
            return Err(AttachmentProblem::FileType(mime_type.to_owned()));
        }
        let text = std::str::from_utf8(self.bytes(reference, MAX_TEXT)?)
            .map_err(|_| AttachmentProblem::FileType(format!("{mime_type}, not in UTF-8")))?;
        Ok(EncodedAttachment::Text(format!("<file name=\"{name}\">\n{text}\n</file>")))
    }

    fn bytes(&self, reference: &str, limit: usize) -> Result<&'a [u8], AttachmentProblem> {
        match self.files.get(reference) {
            None => Err(AttachmentProblem::Missing),
            Some(bytes) if bytes.is_empty() => Err(AttachmentProblem::Empty),
            Some(bytes) if bytes.len() > limit => Err(AttachmentProblem::TooLarge(limit)),
            Some(bytes) => Ok(bytes),
        }
    }
}

const PDF: &str = "application/pdf";

/// Why something cannot be sent.
#[derive(Debug)]
enum AttachmentProblem {
    Blind,
    NoFiles,
    Audio,
    ImageType(String),
    FileType(String),
    Missing,
    Empty,
    TooLarge(usize),
}

impl AttachmentProblem {
    fn reason(&self) -> String {
        match self {
            AttachmentProblem::Blind => "this model cannot see images".to_owned(),
            AttachmentProblem::NoFiles => "this model cannot read documents".to_owned(),
            AttachmentProblem::Audio => "audio cannot be sent to this model".to_owned(),
            AttachmentProblem::ImageType(kind) => {
                format!("its type is {kind}, and models see PNG, JPEG, GIF and WebP only")
            }
            AttachmentProblem::FileType(kind) => {
                format!("its type is {kind}, and models read PDF and text only")
            }
            AttachmentProblem::Missing => "its content is not there any more".to_owned(),
            AttachmentProblem::Empty => "it is empty".to_owned(),
            AttachmentProblem::TooLarge(limit) => format!("it is larger than {}", size(*limit)),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            AttachmentProblem::Blind => "use a model that can see images, or send the message without it",
            AttachmentProblem::NoFiles => {
                "use a model that can read documents, or put the file in the workspace and name its path"
            }
            AttachmentProblem::Audio => "write down what it says, and send that",
            AttachmentProblem::ImageType(_) => "convert the image, then send the message again",
            AttachmentProblem::FileType(_) => {
                "put the file in the workspace and name its path, so that tools can read it"
            }
            AttachmentProblem::Missing | AttachmentProblem::Empty => "attach it again",
            AttachmentProblem::TooLarge(_) => {
                "make it smaller, or put the file in the workspace and name its path"
            }
        }
    }

    fn note(&self, what: &str, reference: &str) -> String {
        format!("[{what} {reference}: {}]", self.reason())
    }

    fn refusal(&self, what: &str, reference: &str, model: &str) -> ModelError {
        let message = format!("the {what} {reference} cannot be sent to {model}: {}", self.reason());
        ModelError::new("unsupported_part", message).hint(self.hint())
    }
}

fn size(bytes: usize) -> String {
    match bytes / (1024 * 1024) {
        0 => format!("{} KiB", bytes / 1024),
        mebibytes => format!("{mebibytes} MiB"),
    }
}

/// The type without its parameters, in the one spelling.
fn essence(mime_type: &str) -> String {
    mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The types of images that all three providers see.
fn image_type(mime_type: &str) -> Option<&'static str> {
    match essence(mime_type).as_str() {
        "image/png" => Some("image/png"),
        "image/jpeg" | "image/jpg" => Some("image/jpeg"),
        "image/gif" => Some("image/gif"),
        "image/webp" => Some("image/webp"),
        _ => None,
    }
}

/// Types of text that do not begin with `text/`.
fn is_text(mime_type: &str) -> bool {
    let kind = essence(mime_type);
    let also = [
        "application/json",
        "application/xml",
        "application/toml",
        "application/yaml",
        "application/x-yaml",
        "application/javascript",
        "application/x-sh",
        "application/sql",
    ];
    kind.starts_with("text/")
        || also.contains(&kind.as_str())
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
}

impl AttachmentData<'_> {
    fn base64(&self) -> Base64Display<'_, '_, base64::engine::GeneralPurpose> {
        Base64Display::new(self.bytes, &STANDARD)
    }
}

/// Bytes as base64, written into the request without a copy in between.
#[derive(Debug)]
pub(crate) struct Base64<'a>(pub(crate) AttachmentData<'a>);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.base64())
    }
}

/// Bytes as an address that holds them.
#[derive(Debug)]
pub(crate) struct DataUrl<'a>(pub(crate) AttachmentData<'a>);

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AttachmentData { mime_type, .. } = self.0;
        serializer.collect_str(&format_args!("data:{mime_type};base64,{}", self.0.base64()))
    }
}

#[cfg(test)]
mod tests;
