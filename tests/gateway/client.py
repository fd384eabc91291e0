#!/usr/bin/env python3
"""A client of the gateway that shares no code with it, on a WebSocket library of other people's. Every frame, in both
directions, is checked against the published schema. Used by the tests of crates/cli:

    client.py URL SCHEMA talk            a conversation of two messages; prints what it learnt as JSON
    client.py URL SCHEMA again LEARNT    after a restart: everything is still there
    client.py URL SCHEMA create          makes a session and prints its key
    client.py URL SCHEMA follow KEY TEXT says TEXT and prints each piece of the answer until the connection is lost
    client.py URL SCHEMA after KEY RUN   after a crash: prints how the run ended, and what was kept of it

The token is in the environment, as GATEWAY_TOKEN."""

import json
import os
import sys

from jsonschema import Draft202012Validator
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

PATIENCE = 30


class Client:
    def __init__(self, socket, schema_path):
        with open(schema_path, encoding="utf-8") as file:
            schema = json.load(file)
        self.client_frames = Draft202012Validator({"$ref": "#/$defs/ClientFrame", "$defs": schema["$defs"]})
        self.server_frames = Draft202012Validator({"$ref": "#/$defs/ServerFrame", "$defs": schema["$defs"]})
        self.socket = socket
        self.events = []
        self.number = 0
        self.send({"type": "auth", "token": os.environ["GATEWAY_TOKEN"]})
        answer = self.receive()
        assert answer == {"type": "auth", "ok": True}, answer

    def send(self, frame):
        self.client_frames.validate(frame)
        self.socket.send(json.dumps(frame))

    def receive(self):
        frame = json.loads(self.socket.recv(timeout=PATIENCE))
        self.server_frames.validate(frame)
        return frame

    def call(self, method, **params):
        self.number += 1
        self.send({"id": str(self.number), "method": method, "params": params})
        while True:
            frame = self.receive()
            if frame.get("id") == str(self.number):
                assert "error" not in frame, frame
                return frame["result"]
            self.events.append(frame)

    def event(self):
        return self.events.pop(0) if self.events else self.receive()

    def chat(self, key, message):
        run = self.call("chat.send", sessionKey=key, message=message)["runId"]
        # The answer that names the run comes before its first event.
        assert not [event for event in self.events if event["data"].get("runId") == run], self.events
        text = ""
        while True:
            event = self.event()
            if event["data"].get("runId") != run:
                continue
            if event["event"] == "chat.delta":
                text += event["data"]["text"]
            elif event["event"] == "chat.final":
                assert "aborted" not in event["data"], event
                return run, text
            else:
                assert event["event"] != "chat.error", event


def talk(client):
    agents = client.call("agents.list")["agents"]
    assert agents[0]["id"] == "assistant" and agents[0]["model"], agents
    key = client.call("sessions.create")["sessionKey"]
    _, first = client.chat(key, "Hello, my name is Alice.")
    _, second = client.chat(key, "What is my name?")
    assert "Alice" in second, second
    messages = client.call("chat.history", sessionKey=key)["messages"]
    said = [(message["role"], message["content"]) for message in messages]
    expected = ["Hello, my name is Alice.", first, "What is my name?", second]
    assert said == list(zip(["user", "assistant"] * 2, expected)), said
    print(json.dumps({"key": key, "messages": messages}))


def again(client, learnt):
    learnt = json.loads(learnt)
    sessions = client.call("sessions.list")["sessions"]
    meta = [session for session in sessions if session["key"] == learnt["key"]]
    assert len(meta) == 1 and meta[0]["label"] == "Hello, my name is Alice.", sessions
    session = client.call("sessions.get", sessionKey=learnt["key"])
    assert session["session"]["key"] == learnt["key"]
    assert session["messages"] == learnt["messages"], session
    _, text = client.chat(learnt["key"], "What is my name, once more?")
    assert "Alice" in text, text
    print("{}")


def create(client):
    print(json.dumps({"key": client.call("sessions.create")["sessionKey"]}))


def follow(client, key, message):
    run = client.call("chat.send", sessionKey=key, message=message)["runId"]
    print(run, flush=True)
    try:
        while True:
            event = client.event()
            if event["event"] == "chat.delta":
                print(json.dumps(event["data"]["text"]), flush=True)
    except ConnectionClosed:
        print("lost", flush=True)


def after(client, key, run):
    session = client.call("sessions.get", sessionKey=key)
    assert session["lastRun"]["runId"] == run, session
    kept = [message["content"] for message in session["messages"] if message["role"] == "assistant"]
    assert all(message["runId"] == run for message in session["messages"]), session
    print(json.dumps({"status": session["lastRun"]["status"], "kept": kept}))


def main():
    url, schema, what, *rest = sys.argv[1:]
    with connect(url, max_size=None, open_timeout=PATIENCE) as socket:
        client = Client(socket, schema)
        {"talk": talk, "again": again, "create": create, "follow": follow, "after": after}[what](client, *rest)


main()
