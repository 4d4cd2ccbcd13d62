"""Runs commands one by one, each in a machine of its own that is gone afterwards: the root is made of overlays whose
changes lie in memory, there is no network, no process outlives its command, and programs that could act only write down their
words (`recorder.sh`).

Usage: sandbox.py RECORDER ROLEOS. Reads one job a line, `{"command", "files", "prefix", "seconds"}`, and answers each
with one line: `{"exit", "stdout", "stderr", "log", "report", "late"}`. Prints `{"ready": true}` first.
"""

import ctypes
import json
import os
import pathlib
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import time

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
READ_ONLY, REMOUNT, BIND, REC, PRIVATE, NOSUID, DETACH = 1, 0x20, 0x1000, 0x4000, 0x40000, 2, 2
HOME, LAYER, EACH, DEVICES = "/home/dev", "/mnt/layer", "/mnt/each", "/mnt/devices"
RECORDED = """git npm pnpm yarn bun gh twine uv poetry hatch flit gh-pages wrangler npx bunx pnpx uvx pipx
sudo doas gosu su-exec caffeinate torsocks proxychains4 xvfb-run dbus-run-session ssh""".split()
MODULES = ["twine", "uv", "poetry", "hatch", "flit"]
ENVIRONMENT = {
    "HOME": HOME, "USER": "dev", "LOGNAME": "dev", "SHELL": "/bin/bash", "LANG": "C.UTF-8", "TERM": "dumb",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rust/bin",
    "npm_config_update_notifier": "false", "npm_config_logs_max": "0",
    "ROLEOS_ROOT": "/var/lib/roleos", "ROLEOS_CAPABILITY_GATE": "1",
}
# A recorder that Python can be given as a script, as people do with the real one.
TWINE = """#!/usr/bin/python3
import sys
with open("/record/log", "a") as log:
    log.write("".join(word + "\\x1f" for word in ["twine", *sys.argv[1:], "end-of-record"]))
"""
# What a command finds of the real root, each below the same layer.
SYSTEM = ["bin", "sbin", "lib", "lib32", "lib64", "usr", "etc", "opt", "var", "srv", "home"]
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def unshare(flags):
    check(libc.unshare(flags))


def mount(source, target, kind=None, flags=0, data=None):
    words = (word and word.encode() for word in (source, target, kind))
    check(libc.mount(*words, ctypes.c_ulong(flags), data and data.encode()))


def identify(uid, gid, inner):
    """Enters a user namespace in which the caller has the id `inner`."""
    unshare(NEWUSER)
    for name, text in [("setgroups", "deny"), ("uid_map", f"{inner} {uid} 1"), ("gid_map", f"{inner} {gid} 1")]:
        pathlib.Path("/proc/self", name).write_text(text)


def write(path, text, mode=0o644):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    path.chmod(mode)


def repository(home):
    """A small repository with a remote, the same each time."""
    day = "2024-01-02T03:04:05Z"
    environment = dict(os.environ, HOME=home, GIT_AUTHOR_DATE=day, GIT_COMMITTER_DATE=day, GIT_CONFIG_SYSTEM=f"{LAYER}/etc/gitconfig")
    origin = f"{LAYER}/srv/origin.git"

    def git(*words):
        subprocess.run([f"{LAYER}/opt/real/git", *words], cwd=home, env=environment, check=True, stdout=subprocess.DEVNULL)

    settings = ("[user]\n\tname = Dev\n\temail = dev@example.com\n[safe]\n\tdirectory = *\n"
                "[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n")
    for place in ["/etc", "/usr/local/etc"]:
        write(f"{LAYER}{place}/gitconfig", settings)
    git("init", "-q", "--template=", "--bare", origin)
    git("init", "-q", "--template=")
    for number, message in enumerate(["first", "third", "second"]):
        write(f"{home}/README.md", "# A demo\n" * (number + 1))
        write(f"{home}/src/main{number}.txt", f"{number}\n")
        git("add", ".")
        git("commit", "-q", "-m", message)
    for branch in ["feat/x", "feature/push-notifications"]:
        git("branch", branch)
    git("remote", "add", "origin", origin)
    git("push", "-q", "origin", "main")
    git("submodule", "--quiet", "add", origin, "vendor/lib")
    for place in [".git", ".git/modules/vendor/lib"]:
        git("config", "--file", f"{place}/config", "remote.origin.url", "/srv/origin.git")
    git("commit", "-q", "-m", "second")
    git("config", "branch.main.remote", "origin")
    git("config", "branch.main.merge", "refs/heads/main")
    write(f"{home}/README.md", "# A demo, changed\n")
    write(f"{home}/notes.txt", "untracked\n")


def prepare(recorder):
    """Makes what every command finds: the layer over the real root, and the few devices."""
    root = os.geteuid() == 0
    if not root:
        identify(os.geteuid(), os.getegid(), 0)
    unshare(NEWNS | NEWNET | NEWIPC | NEWUTS)
    mount(None, "/", None, REC | PRIVATE)
    mount("tmpfs", "/mnt", "tmpfs")
    for place in [f"{LAYER}/opt/real", f"{LAYER}/var/lib/roleos", EACH, f"{DEVICES}/pts", f"{DEVICES}/shm"]:
        os.makedirs(place)
    recorder = pathlib.Path(recorder).read_text()
    real = shutil.which("git")
    shutil.copy(real, f"{LAYER}/opt/real/git")
    library = subprocess.run([real, "--exec-path"], check=True, capture_output=True, text=True).stdout.strip()
    npm = shutil.which("npm", path="/usr/local/bin:/usr/bin")
    if npm:
        write(f"{LAYER}/opt/real/npm", f'#!/bin/sh\nexec node {os.path.realpath(npm)} "$@"\n', 0o755)
    places = ["/usr/local/bin", "/usr/bin"]
    for name in RECORDED:
        found = [place for place in places if os.path.lexists(f"{place}/{name}")]
        for place in found or ["/usr/bin"]:
            write(f"{LAYER}{place}/{name}", recorder.replace("SELF", name), 0o755)
    for place in filter(os.path.isdir, {library, "/usr/lib/git-core"}):
        for name in ["git", "git-push", "git-send-pack", "git-http-push"]:
            write(f"{LAYER}{place}/{name}", recorder.replace("SELF", name), 0o755)
    write(f"{LAYER}/usr/bin/twine", TWINE, 0o755)
    if not os.path.exists("/usr/bin/python"):
        os.symlink("python3", f"{LAYER}/usr/bin/python")
    for name in MODULES:
        text = f"import os, sys\nos.execvp({name!r}, [{name!r}, *sys.argv[1:]])\n"
        write(f"{LAYER}/usr/lib/python3/dist-packages/{name}/__main__.py", text)
    write(f"{LAYER}/etc/passwd", f"root:x:0:0:root:/root:/bin/bash\ndev:x:1000:1000:Dev:{HOME}:/bin/bash\n")
    write(f"{LAYER}/etc/group", "root:x:0:\ndev:x:1000:\n")
    os.makedirs(LAYER + HOME)
    repository(LAYER + HOME)
    for name in ["null", "zero", "full", "random", "urandom", "tty"]:
        write(f"{DEVICES}/{name}", "")
        mount(f"/dev/{name}", f"{DEVICES}/{name}", None, BIND)
    mount("devpts", f"{DEVICES}/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=620")
    for name, target in [("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2")]:
        os.symlink(target, f"{DEVICES}/{name}")
    return "" if root else ",userxattr"


def enter(roleos, toolchain, options):
    """Makes the machine of one command around the caller, the first process in it."""
    mount("tmpfs", EACH, "tmpfs")
    root = f"{EACH}/root"
    os.mkdir(root)
    mount("tmpfs", root, "tmpfs")
    for name in ["mnt", "record", "proc", "dev", "sys", "tmp", "run", "root"]:
        os.makedirs(f"{root}/{name}")
    for name in SYSTEM:
        lower = [place for place in [f"{LAYER}/{name}", f"/{name}"] if os.path.isdir(place) and place != "/home"]
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{root}/{name}")
        elif lower:
            for place in ["up", "work", "root"]:
                os.makedirs(f"{EACH}/{place}/{name}")
            places = f"upperdir={EACH}/up/{name},workdir={EACH}/work/{name}{options}"
            mount("overlay", f"{root}/{name}", "overlay", 0, f"lowerdir={':'.join(lower)},{places}")
    mount("proc", f"{root}/proc", "proc")
    mount(DEVICES, f"{root}/dev", None, BIND | REC)
    mount("/sys", f"{root}/sys", None, BIND | REC)
    mount(None, f"{root}/sys", None, REMOUNT | BIND | READ_ONLY)
    for place in ["tmp", "run", "root", "var/tmp"]:
        mount("tmpfs", f"{root}/{place}", "tmpfs", NOSUID, "mode=1777")
    for source, place in [(roleos, "opt/roleos"), (toolchain, "opt/rust")]:
        if source and os.path.isdir(source):
            os.makedirs(f"{root}/{place}", exist_ok=True)
            mount(source, f"{root}/{place}", None, BIND)
        elif source:
            os.makedirs(f"{root}/{place}", exist_ok=True)
            write(f"{root}/{place}/{os.path.basename(source)}", "")
            mount(source, f"{root}/{place}/{os.path.basename(source)}", None, BIND)
    os.chdir(root)
    check(libc.pivot_root(b".", b"mnt"))
    check(libc.umount2(b"mnt", DETACH))
    os.chdir("/")


def play(job):
    """Becomes the user and the command."""
    uid, gid = os.geteuid(), os.getegid()
    identify(uid, gid, 1000)
    os.chdir(HOME)
    for path, text in job.get("files", {}).items():
        write(os.path.join(HOME, path), text, 0o755 if text.startswith("#!") else 0o644)
    for number, name in [(0, "/dev/null"), (1, "/record/stdout"), (2, "/record/stderr")]:
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666), number)
    os.closerange(3, 64)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in [signal.SIGPIPE, signal.SIGXFSZ]:
        signal.signal(number, signal.SIG_DFL)
    words = [*job.get("prefix", []), "bash", "-c", job["command"]]
    os.execvpe(words[0], words, ENVIRONMENT)


def first(job, answer, roleos, toolchain, options):
    """The first process of the machine: waits for all that runs in it, within its time."""
    enter(roleos, toolchain, options)
    # Supervision takes two process ids before the command; some commands print theirs.
    for _ in range(0 if job.get("prefix") else 2):
        spare = os.fork()
        if spare == 0:
            os._exit(0)
        os.waitpid(spare, 0)
    child = os.fork()
    if child == 0:
        try:
            play(job)
        except OSError as error:
            sys.stderr.write(f"{error}\n")
        os._exit(127)
    end = time.monotonic() + job.get("seconds", 5)
    code, late = None, False
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            end = min(end, time.monotonic() + 3)
        if pid == 0:
            left = end - time.monotonic()
            if left <= 0:
                late = True
                os.kill(-1, signal.SIGKILL)
                end = time.monotonic() + 60
                continue
            signal.sigtimedwait([signal.SIGCHLD], left)

    def text(name):
        try:
            with open(f"/record/{name}", "rb") as file:
                return file.read(1 << 20).decode("latin-1")
        except OSError:
            return ""

    log = [[]]
    for word in text("log").split("\x1f"):
        if word == "end-of-record":
            log.append([])
        else:
            log[-1].append(word)
    result = {"exit": code, "late": late, "log": log[:-1], "report": text("report"), "stdout": text("stdout"),
              "stderr": text("stderr")[-4000:]}
    os.write(answer, json.dumps(result).encode())
    os._exit(0)


def run(job, *machine):
    out, answer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        unshare(NEWNS | NEWPID)
        inner = os.fork()
        if inner == 0:
            try:
                first(job, answer, *machine)
            except BaseException as error:  # the parent must hear of it
                os.write(answer, json.dumps({"failed": repr(error)}).encode())
            os._exit(1)
        os.close(answer)
        os.waitpid(inner, 0)
        os._exit(0)
    os.close(answer)
    text = b""
    while True:
        ready, _, _ = select.select([out], [], [], job.get("seconds", 5) + 90)
        part = os.read(out, 1 << 16) if ready else b""
        if not part:
            break
        text += part
    os.close(out)
    if not text:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return text.decode() if text else json.dumps({"failed": "no answer"})


def main():
    recorder, roleos, toolchain = sys.argv[1:]
    options = prepare(recorder)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(run(json.loads(line), roleos, toolchain, options), flush=True)


main()
