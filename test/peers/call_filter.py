"""Runs a program with the system calls that a systemd unit allows: any other call fails with EPERM.

usage: call_filter.py UNIT COMMAND...
"""
import ctypes, os, subprocess, sys

ALLOW, EPERM, NO_NEW_PRIVILEGES = 0x7FFF0000, 0x00050001, 38


def calls(name):
    """Returns the calls of one word of SystemCallFilter=."""
    if not name.startswith("@"):
        return {name}
    shown = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True)
    words = [line.strip() for line in shown.stdout.splitlines()[1:]]
    return set().union(*(calls(word) for word in words if word and not word.startswith("#")))


# Systemd always allows these calls: no program starts without them.
always = calls("@default") | {"execve"}
allowed = set()
for line in open(sys.argv[1]):
    if line.startswith("SystemCallFilter="):
        words = line.strip().removeprefix("SystemCallFilter=")
        named = set().union(*(calls(word) for word in words.removeprefix("~").split()))
        allowed = allowed - named if words.startswith("~") else allowed | named

seccomp = ctypes.CDLL("libseccomp.so.2")
seccomp.seccomp_init.restype = ctypes.c_void_p
seccomp.seccomp_rule_add.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint]
seccomp.seccomp_load.argtypes = [ctypes.c_void_p]
ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
rules = seccomp.seccomp_init(EPERM)
for name in sorted(allowed | always):
    number = seccomp.seccomp_syscall_resolve_name(name.encode())
    # Calls of other architectures have no number on this machine.
    if number >= 0 and seccomp.seccomp_rule_add(rules, ALLOW, number, 0) != 0:
        sys.exit(f"no rule for {name}")
if seccomp.seccomp_load(rules) != 0:
    sys.exit("the filter was not taken")
os.execvp(sys.argv[2], sys.argv[2:])
