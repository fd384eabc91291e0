"""Pages of other origins, other hosts and those who know no token, at every door."""

import http.client
import re
import socket

from harness.attempt import call
from harness.registry import ONE, case, cases
from harness.websocket import WebSocket

ORIGINS = ["http://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:8080", "https://localhost", "null", "http://evil.example", "http://localhost.evil.example", "file://", "http://127.0.0.1", "chrome-extension://abc", "http://LOCALHOST:3000", "http://localhost:3000/"]
HOSTS = ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "127.0.0.1.", "0.0.0.0", "2130706433", "[::ffff:127.0.0.1]", "127.1", "localhost:1", "localhost@evil.example", "evil.example:80", "", "127.0.0.1\t", "0x7f.0.0.1"]
SOCKETS = ["/gateway", "/ws", "/rpc", "/agent/native", "/acp", "/v1/events"]
READS = ["/v1/sessions", "/v1/agents", "/v1/settings", "/v1/approvals", "/v1/events?after=start", "/v1/tools", "/v1/directories", "/v1/projects", "/openapi.json"]


def gateway_of(daemon):
    """The address of the gateway's own port, from what the daemon says at its start."""
    for line in daemon.process.stdout:
        found = re.search(r"ws://([0-9.:]+)", line)
        if found:
            return found[1]
    return None


def request(daemon, method, path, headers, body=None):
    """The status of a request with exactly these headers; 0 where the connection was closed."""
    connection = http.client.HTTPConnection(daemon.address, timeout=10)
    try:
        connection.putrequest(method, path, skip_host="host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-type", "application/json")
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body.encode() if body is not None else None)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def open_door(t, auth="off"):
    return t.start(arguments=["--auth", auth])


def no_page_connects(t, path):
    """A page of any other origin gets no socket where there is no token."""
    daemon = open_door(t)
    address = gateway_of(daemon) if path == "own port" else daemon.address
    path = "/" if path == "own port" else path
    through = []
    for origin in ORIGINS:
        client = WebSocket(address, path, {"origin": origin})
        through += [origin] if client.status in (101, 200) else []
        client.close()
    t.must(not through, f"{path}: pages of these origins come in: {through}")


cases("doors", ONE, {"auth-off-socket-" + path.strip("/").replace("/", "-").replace(" ", "-"): path for path in [*SOCKETS, "own port"]}, no_page_connects)


@case("doors/auth-off-reads", ONE)
def off_reads(t):
    daemon = open_door(t)
    through = [(path, origin) for path in READS for origin in ORIGINS if request(daemon, "GET", path, {"origin": origin}) == 200]
    t.must(not through, f"pages of other origins read: {through[:4]}")


@case("doors/auth-off-writes", ONE)
def off_writes(t):
    """Also by what a page can send without asking first."""
    daemon = open_door(t)
    body, through = '{"workspace_path":"%s"}' % t.work, []
    for origin in ORIGINS:
        for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded"):
            for path in ("/v1/sessions", "/rpc", "/v1/projects"):
                headers = {"origin": origin, "content-type": kind, "content-length": str(len(body))}
                through += [(path, origin)] if request(daemon, "POST", path, headers) in (200, 201, 202) else []
    t.must(not through, f"pages of other origins write: {through[:4]}")


@case("doors/auth-off-fetch-site", ONE)
def fetch_site(t):
    """A browser that sends no Origin still says where the page comes from."""
    daemon = open_door(t)
    through = [(path, site) for path in ("/v1/sessions", "/v1/events?after=start") for site in ("cross-site", "same-site") if request(daemon, "GET", path, {"sec-fetch-site": site}) == 200]
    t.must(not through, f"requests of other sites are answered: {through}")


@case("doors/auth-off-hosts", ONE)
def off_hosts(t):
    daemon = open_door(t)
    through = [(path, host) for path in ("/v1/sessions", "/", "/openapi.json") for host in HOSTS if request(daemon, "GET", path, {"host": host}) == 200]
    t.must(not through, f"requests for other hosts are answered: {through[:4]}")


@case("doors/auth-off-gateway-hosts", ONE)
def gateway_hosts(t):
    daemon = open_door(t)
    own = gateway_of(daemon)
    through = []
    for address, path in ((own, "/"), (daemon.address, "/gateway"), (daemon.address, "/ws")):
        for host in HOSTS:
            client = WebSocket(address, path, host=host)
            through += [(path, host)] if client.status == 101 else []
            client.close()
    t.must(not through, f"sockets for other hosts are opened: {through[:4]}")


@case("doors/auth-off-only-on-loopback", ONE)
def only_loopback(t):
    from harness.registry import Failure
    for address in ("0.0.0.0:0", "[::]:0"):
        try:
            daemon = t.start(arguments=["--auth", "off", "--listen", address])
        except (RuntimeError, OSError):
            continue
        raise Failure(f"no token is asked for on {address} ({daemon.address})")


@case("doors/own-page-still-works", ONE)
def own_page(t):
    """Else refusing everything would pass."""
    daemon = open_door(t)
    t.must(request(daemon, "GET", "/v1/sessions", {"origin": f"http://{daemon.address}"}) == 200, "the daemon's own page is refused")
    client = WebSocket(daemon.address, "/gateway", {"origin": f"http://{daemon.address}"})
    t.must(client.status == 101, "the daemon's own page gets no socket")
    client.close()


def crowd(t, path):
    """Sockets that never show a token do not keep the owner out."""
    daemon = t.start()
    address = gateway_of(daemon) if path == "own port" else daemon.address
    path = "/" if path == "own port" else path
    idle = []
    try:
        for _ in range(80):
            try:
                idle.append(WebSocket(address, path))
            except OSError:
                break
        owner = WebSocket(address, path)
        t.must(owner.status == 101, f"the owner gets {owner.status}")
        owner.send({"type": "auth", "token": daemon.token})
        answer = owner.receive()
        t.must(answer and answer.get("ok") is True, f"the owner is kept out: {answer}")
        owner.close()
    finally:
        for one in idle:
            one.close()


cases("doors", ONE, {"crowd-gateway": "/gateway", "crowd-own-port": "own port"}, crowd)


@case("doors/crowd-of-half-requests", ONE)
def half_requests(t):
    daemon = t.start()
    name, port = daemon.address.split(":")
    idle = []
    try:
        for _ in range(300):
            one = socket.create_connection((name, int(port)), 5)
            one.sendall(b"GET /v1/sessions HTTP/1.1\r\nhost: x\r\n")
            idle.append(one)
        t.must(daemon.request("GET", "/v1/sessions", timeout=5)[0] == 200, "half requests keep the owner out")
    finally:
        for one in idle:
            one.close()


@case("doors/crowd-where-descriptors-are-few", ONE)
def few_descriptors(t):
    """Connections to one port that say nothing leave the daemon descriptors for the owner at another."""
    daemon = t.start(descriptors=256)
    name, port = gateway_of(daemon).split(":")
    idle = []
    try:
        for _ in range(600):
            idle.append(socket.create_connection((name, int(port)), 5))
        answers = [daemon.request("GET", "/v1/sessions", timeout=5)[0] for _ in range(10)]
        t.must(answers == [200] * 10, f"the owner gets {answers}")
        turn = t.run(call("write_file", path="a.txt", content="x\n"))
        t.must(t.read("a.txt") == b"x\n", f"a turn of the owner fails: {turn.end}")
    finally:
        for one in idle:
            one.close()


@case("doors/token-in-the-address", ONE)
def token_in_address(t):
    daemon = t.daemon
    tries = [f"/v1/sessions?{name}={daemon.token}" for name in ("token", "access_token", "auth", "authorization", "key", "api_key")]
    through = [path for path in tries if request(daemon, "GET", path, {}) == 200]
    headers = [{"cookie": f"token={daemon.token}"}, {"x-api-key": daemon.token}, {"authorization": f"Basic {daemon.token}"}, {"authorization": daemon.token}, {"proxy-authorization": f"Bearer {daemon.token}"}]
    through += [str(list(header)) for header in headers if request(daemon, "GET", "/v1/sessions", header) == 200]
    t.must(not through, f"the token counts where it must not: {[path.split('=')[0] for path in through]}")


@case("doors/no-token", ONE)
def no_token(t):
    through = [path for path in [*READS, "/v1/usage", "/v1/models"] if path != "/openapi.json" and request(t.daemon, "GET", path, {}) == 200]
    for path in SOCKETS:
        client = WebSocket(t.daemon.address, path)
        if client.status == 101 and path != "/v1/events":
            client.send({"id": "1", "method": "sessions.list", "params": {}})
            answer = client.receive()
            through += [path] if answer and "result" in answer else []
        client.close()
    t.must(not through, f"answered without a token: {through}")


@case("doors/forwarded-headers-do-not-count", ONE)
def forwarded(t):
    daemon = open_door(t)
    own = f"http://{daemon.address}"
    tries = [{"host": "evil.example", "x-forwarded-host": daemon.address}, {"host": "evil.example", "forwarded": f"host={daemon.address}"}, {"origin": "http://evil.example", "referer": own}, {"origin": "http://evil.example", "x-forwarded-for": "127.0.0.1"}, {"origin": f"{own} http://evil.example"}, {"origin": f"{own}.evil.example"}, {"origin": own.replace("http:", "https:")}]
    through = [one for one in tries if request(daemon, "GET", "/v1/sessions", one) == 200]
    t.must(not through, f"headers that anybody can send open the door: {through}")


@case("doors/methods-that-change-need-the-origin", ONE)
def cookie_csrf(t):
    """With the cookie of a page, what changes something must come from the daemon's own origin."""
    daemon = t.daemon
    code = daemon.ask("POST", "/v1/login/code")["address"].split("#code=")[1]
    connection = http.client.HTTPConnection(daemon.address, timeout=10)
    connection.request("POST", "/v1/login", '{"code":"%s"}' % code, {"content-type": "application/json", "origin": f"http://{daemon.address}"})
    cookie = connection.getresponse().headers["set-cookie"].split(";")[0]
    connection.close()
    body = '{"workspace_path":"%s"}' % t.work
    through = [origin for origin in ORIGINS if request(daemon, "POST", "/v1/sessions", {"cookie": cookie, "origin": origin}, body) == 201]
    through += ["no origin"] if request(daemon, "POST", "/v1/sessions", {"cookie": cookie}, body) == 201 else []
    for path in SOCKETS[:5]:
        client = WebSocket(daemon.address, path, {"cookie": cookie, "origin": "http://localhost:3000"})
        if client.status == 101:
            client.send({"id": "1", "method": "sessions.list", "params": {}})
            answer = client.receive()
            through += [path] if answer and "result" in answer else []
        client.close()
    t.must(not through, f"a page of another origin uses the cookie: {through}")
