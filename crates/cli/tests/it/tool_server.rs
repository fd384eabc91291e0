//! The smallest server of tools that there can be, in Python: it has one tool, and tests say what that is called and does.

/// The script of a server. `tool` defines `NAME` and the function `tool(arguments)`, which returns the text of the result;
/// it may use `json`, `os` and `sys`.
pub(crate) fn script(tool: &str) -> String {
    format!("#!/usr/bin/python3\nimport json, os, sys\n{tool}\n{LOOP}")
}

const LOOP: &str = r#"
for line in sys.stdin:
    request = json.loads(line)
    method, result = request.get("method"), None
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": NAME, "description": "tries", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": tool(request["params"].get("arguments", {}))}]}
    if "id" in request:
        answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"#;

/// Tries to write a file, and says what came of it.
pub(crate) const WRITE: &str = r#"
def write(place):
    try:
        with open(place, "w") as file: file.write("x")
        return "written"
    except OSError as error:
        return type(error).__name__
"#;
