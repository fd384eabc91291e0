//! The tools that only look, each by a call that a model makes, through a real daemon.

use serde_json::json;

use crate::scripted::{ScriptedDaemon, call, policy_without_approvals};

/// One red pixel.
const PIXEL: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDATx\x9cc\xf8\xcf\
    \xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82";

#[tokio::test]
async fn the_tools_that_look_need_no_answer_and_tell_what_is_there() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("src/lib.rs", "pub struct Harness;\n\npub fn saddle(harness: &Harness) {}\n");
    stage.write("src/main.rs", "fn main() {\n    saddle(&Harness);\n}\n");
    stage.write(".gitignore", "ignored.txt\n");
    stage.write("ignored.txt", "a needle that nobody looks for\n");
    stage.commit();
    stage.write("src/new.rs", "// a needle\n");
    let id = stage.session(ostler_types::Policy::default()).await;
    let turn = stage
        .play(
            id,
            &[
                call("repo_tree", json!({})),
                call("repo_map", json!({})),
                call("read_file", json!({"path": "src/lib.rs"})),
                call("read_file", json!({"path": "src/main.rs", "start_line": 2, "end_line": 2})),
                call("search", json!({"query": "needle"})),
                call("git_status", json!({})),
            ],
        )
        .await;
    let results = turn.results();
    assert!(results.iter().all(|result| result.ok), "{results:#?}");
    let [tree, map, whole, range, search, status] = &results[..] else { panic!("{results:?}") };
    assert!(tree.text.contains("lib.rs") && !tree.text.contains("ignored.txt"), "{}", tree.text);
    assert!(map.text.contains("saddle") && map.text.contains("src/lib.rs"), "{}", map.text);
    assert!(whole.text.contains("pub struct Harness;"), "{}", whole.text);
    assert!(range.text.contains("saddle(&Harness)") && !range.text.contains("fn main"), "{}", range.text);
    assert!(search.text.contains("src/new.rs:1:") && !search.text.contains("ignored"), "{}", search.text);
    assert!(status.text.contains("main") && status.text.contains("src/new.rs"), "{}", status.text);
    assert!(turn.all("checkpoint_created").is_empty(), "nothing was to be changed");
}

#[tokio::test]
async fn a_picture_reaches_a_model_that_sees_and_is_named_to_one_that_does_not() {
    let stage = ScriptedDaemon::new("").await;
    std::fs::write(stage.work.join("pixel.png"), PIXEL).unwrap();
    for (model, sees) in [("mock:m", true), ("mock:blind", false)] {
        let id = stage.session_in(&stage.work, policy_without_approvals(), Some(model)).await;
        let turn = stage.play(id, &[call("read_file", json!({"path": "pixel.png"}))]).await;
        let result = turn.result();
        assert!(result.ok, "{}", result.text);
        let kept = result.result["artifacts"][0].as_str().expect("the picture is kept");
        let kept = stage.data.join("sessions").join(id.to_string()).join(kept);
        assert_eq!(std::fs::read(kept).unwrap(), PIXEL);
        let told = stage.last_asked();
        assert_eq!(told.contains("data:image/png;base64,iVBORw0KGgo"), sees, "{model}: {told}");
        assert_eq!(told.contains("this model cannot see images"), !sees, "{model}: {told}");
    }
}
