"""
Runs a program on a terminal of its own: terminal.py terminal|pipe PROGRAM... `pipe` gives it a pipe as standard
input. Writes what the program writes, and ends with its exit code. Takes commands, one a line:
key INTR|QUIT|SUSP, kill NAME (the program's process), hangup.
"""

import os
import pty
import select
import signal
import sys

KEYS = {"INTR": b"\x03", "QUIT": b"\x1c", "SUSP": b"\x1a"}

kind, *program = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    if kind == "pipe":
        # Nobody writes to it, and it stays open with the program.
        os.dup2(os.pipe()[0], 0)
    os.execvp(program[0], program)

while True:
    ready, _, _ = select.select([0, terminal], [], [])
    if terminal in ready:
        try:
            text = os.read(terminal, 65536)
        except OSError:
            # Nobody has the terminal any more.
            break
        os.write(1, text)
    if 0 in ready:
        lines = os.read(0, 65536).decode().splitlines()
        if not lines:
            break
        for command, *rest in map(str.split, lines):
            if command == "key":
                os.write(terminal, KEYS[rest[0]])
            elif command == "kill":
                os.kill(pid, signal.Signals[rest[0]])
        if lines[-1] == "hangup":
            break

os.close(terminal)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
