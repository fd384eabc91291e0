//! Pieces of content: text, pictures, sounds and files as they stand in prompts, answers and tool calls. Where
//! their bytes are kept is left to others.

use agent_client_protocol::v1::schema::{
    AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, EmbeddedResourceResource,
    ImageContent, PromptCapabilities, ResourceLink, TextResourceContents,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::plain_text::to_plain_line;

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcpContentPiece {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// Its type.
        mime_type: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A sound.
    Audio {
        /// Its type.
        mime_type: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Any other file.
    File {
        /// Its name.
        name: String,
        /// Its type.
        mime_type: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Something that is only pointed at.
    Link {
        /// Its name.
        name: String,
        /// Where it is.
        uri: String,
    },
}

/// What an agent takes in a prompt besides text and links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AcceptedContent {
    /// Pictures.
    pub images: bool,
    /// Sounds.
    pub audio: bool,
    /// Files.
    pub files: bool,
}

impl From<&PromptCapabilities> for AcceptedContent {
    fn from(abilities: &PromptCapabilities) -> AcceptedContent {
        AcceptedContent { images: abilities.image, audio: abilities.audio, files: abilities.embedded_context }
    }
}

/// The piece as an agent is sent it. What it does not take is said in words, so that nothing is left out
/// unseen; a text file is then written out.
pub fn to_block(piece: AcpContentPiece, accepts: AcceptedContent) -> ContentBlock {
    match piece {
        AcpContentPiece::Text(text) => ContentBlock::from(text),
        AcpContentPiece::Image { mime_type, bytes } if accepts.images => {
            ContentBlock::Image(ImageContent::new(STANDARD.encode(bytes), mime_type))
        }
        AcpContentPiece::Audio { mime_type, bytes } if accepts.audio => {
            ContentBlock::Audio(AudioContent::new(STANDARD.encode(bytes), mime_type))
        }
        AcpContentPiece::Image { mime_type, .. } => omitted_block("A picture", &mime_type),
        AcpContentPiece::Audio { mime_type, .. } => omitted_block("A sound", &mime_type),
        AcpContentPiece::File { name, mime_type, bytes } => file_block(&name, mime_type, bytes, accepts),
        AcpContentPiece::Link { name, uri } => ContentBlock::ResourceLink(ResourceLink::new(name, uri)),
    }
}

fn omitted_block(what: &str, mime_type: &str) -> ContentBlock {
    ContentBlock::from(format!("[{what} ({mime_type}) is not shown here: this agent does not take any.]"))
}

fn file_block(name: &str, mime_type: String, bytes: Vec<u8>, accepts: AcceptedContent) -> ContentBlock {
    let uri = format!("attachment:///{}", to_plain_line(name, 200));
    match (String::from_utf8(bytes), accepts.files) {
        (Ok(text), true) => {
            let contents = TextResourceContents::new(text, uri).mime_type(mime_type);
            let resource = EmbeddedResourceResource::TextResourceContents(contents);
            ContentBlock::Resource(EmbeddedResource::new(resource))
        }
        (Ok(text), false) => ContentBlock::from(format!("The attached file {name}:\n\n{text}")),
        (Err(error), true) => {
            let blob = STANDARD.encode(error.as_bytes());
            let contents = BlobResourceContents::new(blob, uri).mime_type(mime_type);
            let resource = EmbeddedResourceResource::BlobResourceContents(contents);
            ContentBlock::Resource(EmbeddedResource::new(resource))
        }
        (Err(_), false) => omitted_block(&format!("The file {}", to_plain_line(name, 200)), &mime_type),
    }
}

/// A piece that somebody sent. One that cannot be read is said so in its place.
pub fn from_block(block: &ContentBlock) -> AcpContentPiece {
    let decoded = |data: &str| STANDARD.decode(data.trim()).ok();
    match block {
        ContentBlock::Text(text) => AcpContentPiece::Text(text.text.clone()),
        ContentBlock::Image(image) => match decoded(&image.data) {
            Some(bytes) => AcpContentPiece::Image { mime_type: image.mime_type.clone(), bytes },
            None => unreadable_piece("picture"),
        },
        ContentBlock::Audio(audio) => match decoded(&audio.data) {
            Some(bytes) => AcpContentPiece::Audio { mime_type: audio.mime_type.clone(), bytes },
            None => unreadable_piece("sound"),
        },
        ContentBlock::ResourceLink(link) => {
            AcpContentPiece::Link { name: link.name.clone(), uri: link.uri.clone() }
        }
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => AcpContentPiece::File {
                name: text.uri.clone(),
                mime_type: text.mime_type.clone().unwrap_or_else(|| "text/plain".to_owned()),
                bytes: text.text.clone().into_bytes(),
            },
            EmbeddedResourceResource::BlobResourceContents(blob) => match decoded(&blob.blob) {
                Some(bytes) => AcpContentPiece::File {
                    name: blob.uri.clone(),
                    mime_type: blob
                        .mime_type
                        .clone()
                        .unwrap_or_else(|| "application/octet-stream".to_owned()),
                    bytes,
                },
                None => unreadable_piece("file"),
            },
            _ => unreadable_piece("file"),
        },
        _ => unreadable_piece("piece"),
    }
}

fn unreadable_piece(what: &str) -> AcpContentPiece {
    AcpContentPiece::Text(format!("[A {what} that cannot be read was left out.]"))
}
