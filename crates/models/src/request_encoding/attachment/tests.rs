//! What can be sent, what is refused, and what older messages say in its place.

use ostler_types::{Ability, Part};

use super::{AttachmentLimits, EncodedAttachment, RequestAttachments};
use crate::profile::ModelProfile;
use crate::request_encoding::fixture::{assistant, model_with_abilities, request, user};

const LIMITS: AttachmentLimits = AttachmentLimits { image: 20 * 1024 * 1024, document: 1024 };

fn brief(attached: EncodedAttachment<'_>) -> String {
    match attached {
        EncodedAttachment::Image(data) => format!("{} of {}", data.mime_type, data.bytes.len()),
        EncodedAttachment::Document(name, data) => {
            format!("{name} {} of {}", data.mime_type, data.bytes.len())
        }
        EncodedAttachment::Text(text) => text,
    }
}

#[test]
fn what_a_model_takes_is_sent() {
    let (profile, request) = (ModelProfile::unknown("home", "m"), request(vec![user("look")]));
    let attachments = RequestAttachments::new(&profile, &request, LIMITS);
    let image = |kind: &str| brief(attachments.image(0, "attachments/a.png", kind).unwrap());
    assert_eq!(image("image/png"), "image/png of 4");
    assert_eq!(image("IMAGE/JPG; q=1"), "image/jpeg of 4");
    let file = |name: &'static str, kind: &str| brief(attachments.file(0, name, kind).unwrap());
    assert_eq!(file("attachments/b.pdf", "application/pdf"), "b.pdf application/pdf of 3");
    let text = "<file name=\"c.txt\">\ngr\u{fc}n \"x\"\n</file>";
    for kind in ["text/plain; charset=utf-8", "application/json", "image/svg+xml"] {
        assert_eq!(file("attachments/c.txt", kind), text, "{kind}");
    }
    assert_eq!(file("attachments/a.png", "image/webp"), "image/webp of 4");
}

#[test]
fn what_it_does_not_take_is_refused_in_the_newest_message_and_noted_in_older_ones() {
    let seeing = model_with_abilities(&[Ability::Vision, Ability::Files]);
    let blind = model_with_abilities(&[Ability::Tools]);
    let request = request(vec![user("old"), user("new")]);
    let cases = [
        (&blind, "image", "attachments/a.png", "image/png", "this model cannot see images"),
        (&blind, "file", "attachments/b.pdf", "application/pdf", "this model cannot read documents"),
        (&seeing, "audio", "attachments/a.wav", "audio/wav", "audio cannot be sent to this model"),
        (
            &seeing,
            "image",
            "attachments/a.png",
            "image/tiff",
            "its type is image/tiff, and models see PNG, JPEG, GIF and WebP only",
        ),
        (
            &seeing,
            "file",
            "attachments/b.pdf",
            "application/zip",
            "its type is application/zip, and models read PDF and text only",
        ),
        (
            &seeing,
            "file",
            "attachments/d.txt",
            "text/plain",
            "its type is text/plain, not in UTF-8, and models read PDF and text only",
        ),
        (&seeing, "image", "attachments/gone.png", "image/png", "its content is not there any more"),
        (&seeing, "image", "attachments/empty.png", "image/png", "it is empty"),
        (&seeing, "image", "attachments/large.png", "image/png", "it is larger than 20 MiB"),
    ];
    for (profile, what, reference, kind, reason) in cases {
        let attachments = RequestAttachments::new(profile, &request, LIMITS);
        let attached = |place| match what {
            "image" => attachments.image(place, reference, kind),
            "file" => attachments.file(place, reference, kind),
            _ => attachments.audio(place, reference),
        };
        let error = attached(1).unwrap_err();
        assert_eq!(error.code, "unsupported_part", "{reason}");
        assert_eq!(error.message, format!("the {what} {reference} cannot be sent to home:m: {reason}"));
        assert!(error.hint.is_some(), "{reason}");
        assert_eq!(brief(attached(0).unwrap()), format!("[{what} {reference}: {reason}]"));
        assert_eq!(brief(attached(2).unwrap()), format!("[{what} {reference}: {reason}]"));
        if what == "image" {
            assert_eq!(brief(attachments.picture(reference, kind)), format!("[image {reference}: {reason}]"));
        }
    }
}

#[test]
fn what_has_been_answered_is_refused_no_more() {
    let blind = model_with_abilities(&[]);
    let request = request(vec![user("look"), assistant(vec![Part::text("I see.")])]);
    let attachments = RequestAttachments::new(&blind, &request, LIMITS);
    let note = "[image attachments/a.png: this model cannot see images]";
    assert_eq!(brief(attachments.image(0, "attachments/a.png", "image/png").unwrap()), note);
}
