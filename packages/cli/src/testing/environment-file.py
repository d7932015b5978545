"""Prints what systemd itself reads from an EnvironmentFile: each variable followed by U+0000. Usage: environment-file.py LIBRARY FILE"""

import ctypes
import sys

systemd = ctypes.CDLL(sys.argv[1])
variables = ctypes.POINTER(ctypes.c_char_p)()
result = systemd.load_env_file(None, sys.argv[2].encode(), ctypes.byref(variables))
if result < 0:
    sys.exit(f"load_env_file: {result}")
index = 0
while variables and variables[index]:
    sys.stdout.buffer.write(variables[index] + b"\0")
    index += 1
