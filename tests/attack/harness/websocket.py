"""The least of a WebSocket client: a handshake with any headers, and text frames."""

import base64
import json
import os
import socket
import struct

from harness.daemon import PATIENCE


class WebSocket:
    def __init__(self, address, path, headers=None, host=None):
        name, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((name, int(port)), PATIENCE)
        given = {"host": address if host is None else host, "upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13",
                 "sec-websocket-key": base64.b64encode(os.urandom(16)).decode(), **(headers or {})}
        head = f"GET {path} HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in given.items()) + "\r\n"
        self.socket.sendall(head.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = self.socket.recv(1)
            if not part:
                break
            answer += part
        self.status = int(answer.split(b" ")[1]) if answer.count(b" ") else 0

    def send(self, value):
        data, mask = json.dumps(value).encode(), b"\1\2\3\4"
        size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(data))
        self.socket.sendall(b"\x81" + size + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(data)))

    def receive(self):
        """The next text frame as JSON; None when the socket was closed."""
        try:
            while True:
                kind, size = self.exactly(2)
                size &= 0x7F
                if size == 126:
                    size = struct.unpack(">H", self.exactly(2))[0]
                elif size == 127:
                    size = struct.unpack(">Q", self.exactly(8))[0]
                data = self.exactly(size)
                if kind & 0xF == 1:
                    return json.loads(data)
                if kind & 0xF == 8:
                    return None
        except (OSError, EOFError):
            return None

    def exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def close(self):
        self.socket.close()
