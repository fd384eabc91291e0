#!/usr/bin/env python3
"""A client of `ostler rpc` that shares no code with it: python3 client.py COMMAND… drives one prompt in each of two
sessions and prints the answer. Used by the tests of crates/cli."""

import json
import subprocess
import sys


def main():
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(**frame):
        # In pieces, so that characters are split.
        for byte in json.dumps(frame, ensure_ascii=False).encode() + b"\r\n":
            child.stdin.write(bytes([byte]))
            child.stdin.flush()

    def read(kind, **wanted):
        while True:
            line = child.stdout.readline()
            assert line.endswith(b"\n"), f"ended before {kind}"
            frame = json.loads(line)
            assert frame["type"] != "error" or kind == "error", frame
            if frame["type"] == kind and all(frame[name] == value for name, value in wanted.items()):
                return frame

    ready = read("ready")
    primary = ready["primary_session_id"]
    assert ready["active_session_id"] == primary and ready["ui"] is True
    send(type="ping")
    read("pong")
    send(type="start_session", set_active=True)
    second = read("session_started")["session_id"]
    read("active_session", session_id=second)
    send(type="prompt", text="ä\u2028ö 😀")
    words, expected = None, 0
    while words is None:
        frame = read("event", session_id=second)
        assert frame["event_seq"] == expected, frame
        expected += 1
        if frame["event"]["type"] == "agent_end":
            said, answer = frame["event"]["data"][0]
            assert said["content"][0]["text"] == "ä\u2028ö 😀", said
            words = answer["content"][0]["text"]
    send(type="list_running_sessions")
    assert [one["session_id"] for one in read("running_sessions")["sessions"]] == [primary, second]
    send(type="close_session", session_id=second)
    read("session_closed", session_id=second, reason="normal")
    read("active_session", session_id=primary)
    send(type="nonsense")
    assert read("error")["message"] == "unknown command"
    child.stdin.close()
    assert child.stdout.read() == b""
    assert child.wait(timeout=30) == 0
    print(f"ok: {words}")


if __name__ == "__main__":
    main()
