#!/usr/bin/env bash
# `ostler service` with a real manager of systemd: service.sh BINARY. As root, in mount and cgroup namespaces of its own, so that
# the machine's own systemd, if it has one, is not touched. Ends with 77 where that cannot be had.
set -euo pipefail

if [ "${1:-}" != inside ]; then
    binary=$(realpath "${1:?service.sh BINARY}")
    for program in unshare systemctl; do
        command -v "$program" >/dev/null || { echo "service: left out, there is no $program"; exit 77; }
    done
    [ "$(id -u)" = 0 ] || { echo "service: left out, it needs root"; exit 77; }
    exec unshare --mount --pid --fork --kill-child --mount-proc -- "$0" inside "$binary"
fi

binary=$2
home=$(mktemp -d)
mount -t tmpfs tmpfs /run
# What says that the system was booted with systemd, without which no manager starts.
mkdir -p /run/systemd/system /run/user/0
chmod 700 /run/user/0
umount --recursive --lazy /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
own=/sys/fs/cgroup/ostler-check
mkdir -p "$own"
echo $$ >"$own/cgroup.procs"
trap 'rm -rf "$home"' EXIT
export HOME=$home XDG_RUNTIME_DIR=/run/user/0
unset XDG_CONFIG_HOME XDG_DATA_HOME
cd "$home"
/lib/systemd/systemd --user >"$home/manager.log" 2>&1 &

# until COMMAND…: as soon as it succeeds.
until_it() {
    for _ in $(seq 300); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    echo "service: gave up on: $*" >&2
    cat "$home/manager.log" >&2
    return 1
}
main_pid() { systemctl --user show --property MainPID --value ostler; }
another_than() { local now; now=$(main_pid); [ "$now" != 0 ] && [ "$now" != "$1" ]; }
none_answers() { "$binary" service status >/dev/null; [ $? = 5 ]; }

until_it systemctl --user is-system-running
if "$binary" service status; then echo "service: nothing is installed yet"; exit 1; fi
"$binary" service install
until_it "$binary" service status
"$binary" service status | grep 'enabled, active' >/dev/null
"$binary" run --quiet hello | grep 'demo model' >/dev/null
"$binary" service install | grep 'up to date' >/dev/null
first=$(main_pid)
kill -KILL "$first"
until_it another_than "$first"
until_it "$binary" service status
"$binary" sessions list | grep hello >/dev/null
systemctl --user stop ostler
{ "$binary" service status || true; } | grep inactive >/dev/null
"$binary" service uninstall
until_it none_answers
[ ! -e "$home/.config/systemd/user/ostler.service" ]
echo "service: installed, killed and started again, uninstalled"
