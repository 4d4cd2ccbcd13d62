//! Local sockets of daemons that start programs for others: what they start is below them, not below the command.

use std::path::Path;

/// Ends of the names of such sockets.
const ENDINGS: &[&str] = &[
    "/docker.sock",
    "/containerd.sock",
    "/podman.sock",
    "/crio.sock",
    "/buildkitd.sock",
    "/dockershim.sock",
    "/systemd/private",
    "/libvirt-sock",
    "/lxd/unix.socket",
    "/incus/unix.socket",
];

/// Parts of the names of such sockets.
const PARTS: &[&str] = &[
    "/tmux-",
    "/screen/S-",
    "/run/screens/",
    "/screens/S-",
    "/zellij-",
    "/zellij/",
];

/// Returns what a socket belongs to, if that starts programs for others.
pub(super) fn launcher(socket: &Path) -> Option<&'static str> {
    let name = socket.to_string_lossy();
    let ends = ENDINGS.iter().find(|end| name.ends_with(**end));
    let holds = || PARTS.iter().find(|part| name.contains(**part));
    let of_bus = || {
        let is_bus = name.ends_with("/bus") && name.contains("/run/user/");
        (is_bus || name.starts_with("@/tmp/dbus-")).then_some(&"user bus")
    };
    ends.or_else(holds).or_else(of_bus).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemons_that_start_programs_are_known_by_their_sockets() {
        for socket in [
            "/run/docker.sock",
            "/run/containerd/containerd.sock",
            "/run/user/1000/podman/podman.sock",
            "/run/user/1000/bus",
            "/tmp/tmux-1000/default",
            "/run/screen/S-me/1.pts",
        ] {
            assert!(launcher(Path::new(socket)).is_some(), "{socket}");
        }
        for socket in [
            "/run/nscd/socket",
            "/tmp/ssh-x/agent.1",
            "/run/postgresql/.s.PGSQL.5432",
            "/run/dbus/system_bus_socket",
            "@/tmp/.X11-unix/X0",
            "/home/me/business",
        ] {
            assert!(launcher(Path::new(socket)).is_none(), "{socket}");
        }
    }
}
