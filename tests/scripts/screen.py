"""A program on a terminal of its own, and what it shows there: enough of a terminal for curses.

A sequence that is not known here, or a character that would go on in the next row, is a failure.
"""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(rb"\x1b(?:\[([?>]?)([0-9;]*)([@-~])|[()].|[=>78MDEc])")
LONGEST = 32  # of a sequence
KEYS = {"up": b"\x1bOA", "down": b"\x1bOB", "page up": b"\x1b[5~", "page down": b"\x1b[6~"}


class Broken(Exception):
    """Something that a terminal would show otherwise than meant."""


class Screen:
    """Rows of characters, written as a terminal of that size writes them."""

    def __init__(self, columns, rows):
        self.left = b""
        self.resize(columns, rows)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.x = self.y = 0
        self.top, self.bottom = 0, rows - 1

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def feed(self, data):
        data = self.left + data
        at = 0
        while at < len(data):
            if data[at] == 0x1b:
                found = SEQUENCE.match(data, at)
                if not found:
                    if len(data) - at > LONGEST:
                        raise Broken(f"unknown sequence {data[at:at + LONGEST]!r}")
                    break
                if found[3]:
                    self._act(found[1], found[2], found[3].decode())
                elif found[0] == b"\x1bM":
                    self._scroll(-1)
                at = found.end()
            else:
                self._put(data[at])
                at += 1
        self.left = data[at:]

    def _put(self, byte):
        if byte == 0x0d:
            self.x = 0
        elif byte == 0x0a:
            if self.y == self.bottom:
                self._scroll(1)
            else:
                self.y += 1
        elif byte == 0x08:
            self.x = max(0, self.x - 1)
        elif byte >= 0x20:
            if self.x >= self.columns:
                raise Broken(f"row {self.y} goes on in the next: {self.lines()[self.y]!r}")
            self.cells[self.y][self.x] = chr(byte)
            self.x += 1

    def _scroll(self, n):
        for _ in range(abs(n)):
            row = [" "] * self.columns
            if n > 0:
                del self.cells[self.top]
                self.cells.insert(self.bottom, row)
            else:
                del self.cells[self.bottom]
                self.cells.insert(self.top, row)

    def _blank(self, y, first, end):
        self.cells[y][first:end] = [" "] * (min(end, self.columns) - first)

    def _act(self, private, text, kind):
        numbers = [int(n or 0) for n in text.split(b";")] if text else []
        n = max(1, numbers[0] if numbers else 1)
        if private or kind in "mhltcn":
            return
        if kind in "Hf":
            self.y = n - 1
            self.x = (numbers[1] if len(numbers) > 1 else 1) - 1
        elif kind in "ABCDGd":
            self.y = {"A": self.y - n, "B": self.y + n, "d": n - 1}.get(kind, self.y)
            self.x = {"C": self.x + n, "D": self.x - n, "G": n - 1}.get(kind, self.x)
        elif kind == "J":
            self._erase(numbers[0] if numbers else 0)
        elif kind == "K":
            mode = numbers[0] if numbers else 0
            self._blank(self.y, 0 if mode else self.x, self.x + 1 if mode == 1 else self.columns)
        elif kind == "X":
            self._blank(self.y, self.x, self.x + n)
        elif kind == "b":
            for _ in range(n):
                self._put(ord(self.cells[self.y][self.x - 1]))
        elif kind == "r":
            self.top = n - 1
            self.bottom = (numbers[1] if len(numbers) > 1 else self.rows) - 1
            self.x = self.y = 0
        elif kind in "ST":
            self._scroll(n if kind == "S" else -n)
        elif kind in "LM":
            kept, self.top = self.top, self.y
            self._scroll(-n if kind == "L" else n)
            self.top = kept
        elif kind in "P@":
            row = self.cells[self.y]
            if kind == "P":
                row[self.x:self.x + n] = []
                row += [" "] * n
            else:
                row[self.x:self.x] = [" "] * n
            self.cells[self.y] = row[:self.columns]
        else:
            raise Broken(f"unknown sequence {kind!r} {text!r}")

    def _erase(self, mode):
        if mode != 0:
            first, end = 0, self.rows if mode == 2 else self.y
        else:
            first, end = self.y + 1, self.rows
            self._blank(self.y, self.x, self.columns)
        for y in range(first, end):
            self._blank(y, 0, self.columns)


class Terminal:
    """A program with keys and a screen of its own."""

    def __init__(self, argv, env, columns, rows):
        self.screen = Screen(columns, rows)
        self.fd, inner = os.openpty()
        self._size(inner)
        self.before = termios.tcgetattr(inner)
        self.inner = inner  # so that how the terminal was left can be asked
        self.seen = b""
        self.process = subprocess.Popen(argv, env=env, stdin=inner, stdout=inner, stderr=inner,
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.inner)
        os.close(self.fd)

    def _size(self, fd):
        fcntl.ioctl(fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", self.screen.rows, self.screen.columns, 0, 0))

    def resize(self, columns, rows):
        """The kernel tells the program."""
        self.screen.resize(columns, rows)
        self._size(self.fd)

    def press(self, key):
        os.write(self.fd, KEYS.get(key, key.encode()))

    def read(self, seconds):
        """Shows what comes within that time."""
        if select.select([self.fd], [], [], seconds)[0]:
            data = os.read(self.fd, 65536)
            self.seen += data
            self.screen.feed(data)

    def wait_for(self, is_there, what):
        """Until the screen is as wanted; a busy machine may take its time."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            lines = self.screen.lines()
            if is_there(lines):
                return lines
            self.read(0.1)
        raise Broken(f"no {what} on the screen: {self.screen.lines()}")

    def wait_end(self, number=None):
        """The exit status after the rest was shown; a signal is sent first, if there is one."""
        if number is not None:
            os.kill(self.process.pid, number)
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.read(0)
        return self.process.wait(timeout=1)

    def is_as_before(self):
        """Whether keys are echoed and lines edited as they were, and the cursor is there again."""
        shown = re.findall(rb"\x1b\[\?(?:\d+;)*25([hl])", self.seen)
        screens = re.findall(rb"\x1b\[\?1049([hl])", self.seen)
        return (termios.tcgetattr(self.inner)[:4] == self.before[:4] and
                shown[-1:] in ([], [b"h"]) and screens[-1:] in ([], [b"l"]))


SIGNALS = (signal.SIGINT, signal.SIGTERM)
