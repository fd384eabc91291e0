//! What a confined program can talk to.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::fixture::{SandboxWorld, everywhere};

everywhere! {
    a_port_on_this_machine_is_out_of_reach,
    unix_sockets_outside_are_out_of_reach,
    the_loopback_inside_is_as_reported,
    a_terminal_cannot_be_typed_into,
}

async fn a_port_on_this_machine_is_out_of_reach(world: &SandboxWorld) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script =
        format!("import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('connected')");
    let denied = world.python(&world.profile(), &script).await;
    assert!(!denied.failed().contains("connected"), "{denied:?}");
    let datagram = format!(
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', {port}))"
    );
    world.python(&world.profile(), &datagram).await.failed();
    let other = "import socket; socket.socket(40, socket.SOCK_STREAM)";
    world.python(&world.profile(), other).await.failed();

    let mut profile = world.profile();
    profile.network = true;
    assert_eq!(world.python(&profile, &script).await.ok(), "connected\n");
}

async fn unix_sockets_outside_are_out_of_reach(world: &SandboxWorld) {
    let path = world.outside.join("socket");
    let _by_path = UnixListener::bind(&path).unwrap();
    let name = format!("ostler-test-{}-{}", std::process::id(), world.is_landlock());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let by_path = format!("socket.socket(socket.AF_UNIX).connect({:?})", path.to_str().unwrap());
    let by_name = format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')");
    // A pair is allowed, but one of datagrams could be sent elsewhere.
    let by_pair = format!(
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', {:?})",
        path.to_str().unwrap()
    );
    for network in [false, true] {
        let mut profile = world.profile();
        profile.network = network;
        for attempt in [&by_path, &by_name, &by_pair] {
            let outcome =
                world.python(&profile, &format!("import socket; {attempt}; print('connected')")).await;
            assert!(outcome.failed().contains("PermissionError"), "{attempt}: {outcome:?}");
        }
        // By name not even where Unix sockets are allowed.
        profile.unix_sockets = true;
        let outcome = world.python(&profile, &format!("import socket; {by_name}; print('connected')")).await;
        assert!(!outcome.failed().contains("connected"), "{outcome:?}");
    }
    let pair = "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))";
    assert_eq!(world.python(&world.profile(), pair).await.ok(), "b'x'\n");
}

async fn the_loopback_inside_is_as_reported(world: &SandboxWorld) {
    let script = "import socket; s = socket.create_server(('127.0.0.1', 0)); \
                  socket.create_connection(s.getsockname(), 2); print('connected')";
    let outcome = world.python(&world.profile(), script).await;
    let report = world.sandbox.report();
    if world.is_landlock() {
        outcome.failed();
        assert!(report.enforced.iter().any(|line| line.contains("not even for loopback")), "{report:?}");
    } else {
        assert_eq!(outcome.ok(), "connected\n");
        assert!(report.enforced.iter().any(|line| line.contains("loopback interface")), "{report:?}");
    }
}

async fn a_terminal_cannot_be_typed_into(world: &SandboxWorld) {
    if world.is_landlock() {
        // All terminals are the user's there, so none can be opened, and no new one made.
        world.python(&world.profile(), "import pty; pty.openpty()").await.failed();
        world.sh("echo x > /dev/tty").await.failed();
        return;
    }
    // In a terminal of its own a program may do it on many kernels, so a denial comes from the sandbox.
    let script = "
import fcntl, os, pty, termios
pid, terminal = pty.fork()
if pid == 0:
    try:
        fcntl.ioctl(0, termios.TIOCSTI, b'x')
        os._exit(0)
    except OSError as error:
        os._exit(error.errno)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";
    assert_eq!(world.python(&world.profile(), script).await.ok(), "1\n");
    let tty = world.sh("echo x > /dev/tty").await;
    tty.failed();
}
