//! What the embedded model makes of plain requests.

use futures_util::StreamExt;
use ostler_models::{Demo, Model, ModelEvent};
use serde_json::{Value, json};

use crate::conversation::{CollectedAnswer, assistant, read, request, user};

const TOOLS: [&str; 5] = ["repo_tree", "read_file", "search", "shell", "write_file"];

async fn ask(text: &str) -> CollectedAnswer {
    read(Demo.stream(request(vec![user(text)], &TOOLS))).await
}

async fn calls(text: &str) -> Vec<(String, Value)> {
    let answer = ask(text).await;
    assert_eq!(answer.stop(), if answer.calls.is_empty() { "end_turn" } else { "tool_calls" }, "{text}");
    answer.calls.into_iter().map(|(_, name, input)| (name, serde_json::from_str(&input).unwrap())).collect()
}

async fn check(cases: &[(&str, &str, Value)]) {
    for (text, tool, input) in cases {
        assert_eq!(calls(text).await, [((*tool).to_owned(), input.clone())], "{text}");
    }
}

#[tokio::test]
async fn listing() {
    let (here, src) = (json!({}), json!({"path": "src"}));
    let cases = [
        ("list the files", here.clone()),
        ("List files.", here.clone()),
        ("LIST ALL THE FILES", here.clone()),
        ("please list the files here", here.clone()),
        ("Could you list all files in this directory?", here.clone()),
        ("show me the files", here.clone()),
        ("show the file tree", here.clone()),
        ("what files are there?", here.clone()),
        ("what's here?", here.clone()),
        ("ls", here.clone()),
        ("list everything in the workspace", here),
        ("list the files in src", src.clone()),
        ("list files under `src`", src.clone()),
        ("list src", src.clone()),
        ("list the src directory", src.clone()),
        ("show me the src folder", src.clone()),
        ("list the contents of src", src.clone()),
        ("which files are in src?", src.clone()),
        ("what is in src?", src.clone()),
        ("list the files in the src directory.", src.clone()),
        ("find all files in \"src\"", src),
        ("list the files in crates/models/src", json!({"path": "crates/models/src"})),
    ];
    check(&cases.map(|(text, input)| (text, "repo_tree", input))).await;
}

#[tokio::test]
async fn reading() {
    let readme = json!({"path": "README.md"});
    let cases = [
        ("read README.md", readme.clone()),
        ("Read README.md.", readme.clone()),
        ("read the file README.md, please", readme.clone()),
        ("show me README.md", readme.clone()),
        ("open `README.md`", readme.clone()),
        ("cat README.md", readme.clone()),
        ("can you show me the contents of README.md?", readme.clone()),
        ("what is in README.md?", readme.clone()),
        ("read the readme", readme.clone()),
        ("look at README.md for me", readme.clone()),
        ("hello, please read README.md", readme.clone()),
        ("read README.md and tell me about it", readme),
        ("open src/main.rs", json!({"path": "src/main.rs"})),
        ("read Makefile", json!({"path": "Makefile"})),
        ("read the first 10 lines of a.txt", json!({"path": "a.txt", "start_line": 1, "end_line": 10})),
        ("show me lines 3 to 9 of a.txt", json!({"path": "a.txt", "start_line": 3, "end_line": 9})),
        ("read a.txt lines 3-9", json!({"path": "a.txt", "start_line": 3, "end_line": 9})),
    ];
    check(&cases.map(|(text, input)| (text, "read_file", input))).await;
}

#[tokio::test]
async fn searching() {
    let cases = [
        ("search for main", json!({"query": "main"})),
        ("find Session", json!({"query": "Session"})),
        ("grep Main", json!({"query": "Main"})),
        ("Search the code for \"salt and pepper\"", json!({"query": "salt and pepper"})),
        ("search for salt and pepper", json!({"query": "salt and pepper"})),
        ("look for the word main", json!({"query": "main"})),
        ("where is Session?", json!({"query": "Session"})),
        ("grep for main in src", json!({"query": "main", "glob": "src/**"})),
        ("search for main in *.rs files", json!({"query": "main", "glob": "*.rs"})),
        ("find main in this repo", json!({"query": "main"})),
        ("search for made in Germany", json!({"query": "made in Germany"})),
    ];
    check(&cases.map(|(text, input)| (text, "search", input))).await;
}

#[tokio::test]
async fn running() {
    let cases = [
        ("run `ls -la`", "ls -la"),
        ("run ls -la", "ls -la"),
        ("Run ls -la.", "ls -la"),
        ("run ls .", "ls ."),
        ("execute the command `cargo test`", "cargo test"),
        ("please run: echo hi", "echo hi"),
        ("`git status`", "git status"),
        ("$ git status", "git status"),
        ("ls -la", "ls -la"),
        ("run `echo a and then read b.txt`", "echo a and then read b.txt"),
        ("run if true; then cat a.txt; fi", "if true; then cat a.txt; fi"),
        ("run `echo 'a' && cat b.txt`, please", "echo 'a' && cat b.txt"),
        ("run echo \"say hello, then list the files\"", "echo \"say hello, then list the files\""),
    ];
    check(&cases.map(|(text, command)| (text, "shell", json!({"command": command})))).await;
}

#[tokio::test]
async fn writing() {
    let file = |content: &str| json!({"path": "hello.txt", "content": content});
    let cases = [
        ("write hello.txt with Hello!", file("Hello!")),
        ("Write hello.txt with \"Hello, you\"", file("Hello, you")),
        ("write hello.txt: one\ntwo", file("one\ntwo")),
        ("create a file called hello.txt containing some text", file("some text")),
        ("create the file `hello.txt` with the content 'hi'", file("hi")),
        ("please write a new file hello.txt that says hi there", file("hi there")),
        ("write \"hi there\" to hello.txt", file("hi there")),
        ("save hi there to hello.txt.", file("hi there")),
        ("write hello.txt with a, read and b", file("a, read and b")),
        ("write hello.txt with \"one, then read it\"", file("one, then read it")),
    ];
    check(&cases.map(|(text, input)| (text, "write_file", input))).await;
    for text in ["write hello.txt", "Create hello.txt.", "make a file named hello.txt"] {
        let (tool, input) = calls(text).await.remove(0);
        assert_eq!((tool.as_str(), &input["path"]), ("write_file", &json!("hello.txt")), "{text}");
        assert!(input["content"].as_str().unwrap().contains("demo"), "{text}");
    }
}

#[tokio::test]
async fn speaking_and_thinking() {
    for (text, said) in [
        ("say hello", "hello"),
        ("Say \"one, two\"", "one, two"),
        ("repeat after me: I read, and list the files", "I read, and list the files"),
        ("please repeat what I say", "what I say"),
    ] {
        let answer = ask(text).await;
        assert_eq!((answer.text.as_str(), answer.stop()), (said, "end_turn"), "{text}");
    }
    let answer = ask("Think about the tests.").await;
    assert!(answer.reasoning.contains("the tests"), "{}", answer.reasoning);
    assert!(answer.text.contains("the tests"), "{}", answer.text);
}

#[tokio::test]
async fn slow_speech_comes_word_by_word() {
    for text in ["say one two  three slowly", "Say slowly: one two  three", "slowly say one two  three"] {
        let events: Vec<_> =
            Demo.stream(request(vec![user(text)], &TOOLS)).map(Result::unwrap).collect().await;
        let words: Vec<&str> = events
            .iter()
            .filter_map(|event| if let ModelEvent::Text(text) = event { Some(text.as_str()) } else { None })
            .collect();
        assert_eq!(words, ["one ", "two  ", "three"], "{text}");
    }
}

#[tokio::test]
async fn it_explains_itself() {
    let others = [
        "hello",
        "help",
        "what can you do?",
        "",
        "refactor everything",
        "run the tests",
        "open the door wide",
    ];
    for text in others {
        let answer = ask(text).await;
        assert_eq!((answer.calls.len(), answer.stop()), (0, "end_turn"), "{text}");
        for words in
            ["embedded demo model", "- `read README.md`", "`ostler models`", "--model PROVIDER:MODEL"]
        {
            assert!(answer.text.contains(words), "{words} is missing after {text:?}: {}", answer.text);
        }
    }
    assert!(ask("Hello!").await.text.starts_with("Hello!"));
}

#[tokio::test]
async fn it_tells_the_name_that_it_was_told() {
    let name = async |said: &[&str], asked: &str| {
        let mut messages: Vec<_> = said.iter().flat_map(|text| [user(text), assistant("I see.")]).collect();
        messages.push(user(asked));
        read(Demo.stream(request(messages, &TOOLS))).await.text
    };
    for asked in ["What is my name?", "what's my name", "please tell me my name.", "Who am I?"] {
        let told = name(&["Hello, my name is Alice.", "list the files"], asked).await;
        assert_eq!(told, "Your name is Alice.", "{asked}");
    }
    assert_eq!(
        name(&["my name is Ann", "no, call me Ève Ünal!"], "what is my name?").await,
        "Your name is Ève Ünal."
    );
    for said in ["hello", "my name is ", "my name is\n", "my name is . "] {
        assert_eq!(name(&[said], "what is my name?").await, "You have not told me your name.", "{said:?}");
    }
    assert!(name(&["my name is Ann"], "what is my name worth").await.contains("embedded demo model"));
}

#[tokio::test]
async fn text_comes_in_small_pieces_and_is_counted() {
    let events: Vec<_> = Demo.stream(request(vec![user("help")], &TOOLS)).map(Result::unwrap).collect().await;
    let texts = events
        .iter()
        .filter_map(|event| if let ModelEvent::Text(text) = event { Some(text.len()) } else { None });
    let sizes: Vec<usize> = texts.collect();
    assert!(sizes.len() > 10 && sizes.iter().all(|&size| size < 100), "{sizes:?}");
    let [.., ModelEvent::Usage(usage), ModelEvent::Stop(_)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(usage.output_tokens, u64::try_from(sizes.iter().sum::<usize>().div_ceil(4)).unwrap());
    assert!(usage.input_tokens > 0);
}

#[tokio::test]
async fn a_tool_that_is_not_offered_is_not_called() {
    let answer = read(Demo.stream(request(vec![user("run ls -la")], &["read_file"]))).await;
    assert!(answer.calls.is_empty());
    assert_eq!(answer.text, "For that I would call `shell`, but this session offers only `read_file`.");
}
