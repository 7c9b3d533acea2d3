"""
Says where the daemon's session is, that it is ready, and each signal that it gets. SIGTERM, SIGQUIT and SIGHUP
end it, with exit code 9, after it said how often SIGINT came, and what it says of standard input.
"""

import fcntl
import os
import signal

interrupts = 0


def say(text):
    try:
        os.write(1, f"{text}\n".encode())
    except OSError:
        # The terminal is gone.
        pass


def take(number, _):
    global interrupts
    interrupts += number == signal.SIGINT
    say(signal.Signals(number).name)
    if number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        blocks = fcntl.fcntl(0, fcntl.F_GETFL) & os.O_NONBLOCK == 0
        say(f"SIGINT came {interrupts} times, standard input {'blocks' if blocks else 'does not block'}")
        os._exit(9)


for name in ("INT", "QUIT", "TERM", "HUP", "USR1", "CONT"):
    signal.signal(signal.Signals[f"SIG{name}"], take)
woken, wakes = os.pipe()
os.set_blocking(wakes, False)
signal.set_wakeup_fd(wakes)
say(f"session {os.environ.get('TIERED_INTERPOSE')}")
say("ready")
while True:
    # Not by `pause`: it would sleep on after a signal that comes just before it.
    os.read(woken, 64)
