"""Whom the attacks are made on: a server and a client of `weft perf`, in a network namespace of their own.

The namespace is this process's, and goes with it. Client and server have an address each, so that a packet in
the peer's name and one of a stranger are different things, though all of it is loopback.
"""
import ctypes
import json
import os
import pathlib
import queue
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

CLONE_NEWNET = 0x40000000
ADDRESSES = {
    4: {"client": "127.0.0.1", "server": "127.0.0.2", "stranger": "127.0.0.66", "sink": "127.0.0.99"},
    6: {"client": "fd77::1", "server": "fd77::2", "stranger": "fd77:0:0:1::66", "sink": "fd77:0:0:1::99"},
}
STRANGERS = "fd77:0:0:1::/64"  # local, and of no interface: no device has them
STRANGER_UID = 12345
PORT, ENDPOINT_QP = 4791, 2
ETH_P_ALL, SNIFF_MOST = 3, 20000
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
READY = "waiting on port"
BEHIND = ("nice", "-n", "5")  # victims and forger spin: who watches them must get a word in
INTERVAL_S, MARGIN_S = 0.1, 0.02
LIMIT_S = 20  # beyond the time that a transfer was given


class Missing(Exception):
    """The machine lacks what is needed."""


def run(words, **more):
    more = {"capture_output": True, "text": True, "check": True, "timeout": 60, **more}
    return subprocess.run([str(word) for word in words], **more)


def enter_namespace():
    if os.geteuid() != 0:
        raise Missing("needs root for a network namespace")
    for tool in ("ip", "prlimit"):
        if not shutil.which(tool):
            raise Missing(f"there is no {tool}")
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        raise Missing("no network namespace can be made")
    run(["ip", "link", "set", "lo", "up"])
    for family, who in ADDRESSES.items():
        bits = 32 if family == 4 else 128
        for name in ("client", "server"):
            if who[name] != "127.0.0.1":
                run(["ip", "address", "add", f"{who[name]}/{bits}", "dev", "lo"])
        table = ["table", "local", "local", who["server"], "dev", "lo"]
        if family == 6:
            run(["ip", "-6", "route", "del", *table])
        # Who connects to the server has the client's address.
        run(["ip", f"-{family}", "route", "replace", *table, "src", who["client"]])
    run(["ip", "-6", "route", "add", "local", STRANGERS, "dev", "lo"])


def destination(ip, family):
    """Of a packet from its IP header on: the address and the queue pair that it is for, or 0."""
    if ip[0] >> 4 != family:
        return b"", 0
    to, udp = (ip[16:20], ip[20:]) if family == 4 else (ip[24:40], ip[40:])
    if int.from_bytes(udp[2:4], "big") != PORT or len(udp) < 20:
        return to, 0
    return to, int.from_bytes(udp[13:16], "big")


class Place:
    """A folder that everybody may enter, with copies of the programs under test."""

    def __init__(self, build, forge):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attack-"))
        self.folder.chmod(0o755)
        self.build = pathlib.Path(build)
        self.weft = self.copy(self.build / "src/tools/weft")
        self.forge = self.copy(forge)

    def copy(self, path):
        to = self.folder / pathlib.Path(path).name
        shutil.copy(path, to)
        to.chmod(0o755)
        return str(to)

    def remove(self):
        shutil.rmtree(self.folder)


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    return {**kept, "WEFT_CONFIG": "/dev/null", "WEFT_INTERFACES": "lo", **more}


def as_stranger():
    return {"user": STRANGER_UID, "group": STRANGER_UID, "extra_groups": []}


def end(process):
    """Ends a process of ours; its exit status."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=20)
    return process.returncode


class Pair:
    """A server and a client that move data for a while, verified where `perf` can."""

    def __init__(self, place, transport, seconds, op="write", family=4, env=None, options=(), devices=""):
        self.place, self.transport, self.family = place, transport, family
        self.counters = place.folder / f"counters-{time.monotonic_ns()}"
        self.env = environment(WEFT_COUNTERS=str(self.counters), **(env or {}))
        if devices:
            self.describe(devices)
        self.seconds, self.intervals, self.windows = seconds, [], []
        who = ADDRESSES[family]
        self.verify = ["--verify"] if op in ("write", "send", "write-imm") else []
        self.server = self.start(["--server", "--once", "--bind", who["server"]])
        line = self.server.stderr.readline()
        if READY not in line:
            end(self.server)
            raise RuntimeError(f"the server says {line!r}")
        self.client = self.start(["--json", "-i", str(INTERVAL_S), "--duration",
                                  str(int(seconds * 1000)), "--transport", transport, "--op", op,
                                  *self.verify, *options, who["server"]])
        self.first = queue.Queue()
        self.last = {}
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.numbers = {}

    def describe(self, devices):
        path = self.place.folder / "devices.conf"
        path.write_text(devices)
        self.env["WEFT_CONFIG"] = str(path)
        del self.env["WEFT_INTERFACES"]

    def start(self, options):
        return subprocess.Popen([*BEHIND, self.place.weft, "perf", *options], env=self.env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def read(self):
        for line in self.client.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if "interval" in said:
                self.intervals.append((time.monotonic(), said))
                self.first.put(True)
            else:
                self.last = said

    def is_running(self):
        return self.client.poll() is None

    def learn(self):
        """The numbers of the queue pairs, as one sees them who can listen: in the packets."""
        try:
            self.first.get(timeout=LIMIT_S)
        except queue.Empty:
            return
        who = {socket.inet_pton(FAMILIES[self.family], ADDRESSES[self.family][name]): name
               for name in ("client", "server")}
        with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as wire:
            wire.bind(("lo", ETH_P_ALL))
            wire.settimeout(1)
            for _ in range(SNIFF_MOST):
                try:
                    to, number = destination(wire.recv(256), self.family)
                except TimeoutError:
                    return
                if number > ENDPOINT_QP and to in who:
                    self.numbers[who[to]] = number
                if len(self.numbers) == 2:
                    return

    def finish(self):
        """Waits for the end of the transfer, within a bound."""
        hung = False
        try:
            self.client.wait(timeout=self.seconds + LIMIT_S)
        except subprocess.TimeoutExpired:
            hung = True
        try:
            self.server.wait(timeout=1 if hung else 5)
        except subprocess.TimeoutExpired:
            pass
        told = end(self.client), end(self.server)
        self.reader.join(timeout=5)
        errors = [process.stderr.read().strip() for process in (self.client, self.server)]
        return Outcome(hung, told, errors, self.ratio(), self.read_counters())

    def stop(self):
        end(self.client)
        end(self.server)

    def ratio(self):
        """Medians of the intervals that were wholly quiet, and wholly attacked, in bit/s."""
        found = {"quiet": [], "attacked": []}
        for at, said in self.intervals:
            since = at - (said["to_ns"] - said["from_ns"]) / 1e9
            if (said["to_ns"] - said["from_ns"]) < INTERVAL_S * 0.5e9:
                continue
            if any(start + MARGIN_S < since and at < stop + MARGIN_S for start, stop in self.windows):
                found["attacked"].append(said["bits_per_second"])
            elif all(at < start or since > stop + MARGIN_S for start, stop in self.windows):
                found["quiet"].append(said["bits_per_second"])
        return {name: statistics.median(got) if got else None for name, got in found.items()}

    def read_counters(self):
        found = {}
        if self.counters.exists():
            for line in self.counters.read_text().splitlines():
                said = json.loads(line)
                found["client" if said["pid"] == self.client.pid else "server"] = said
            self.counters.unlink()
        return found


class Outcome:
    """How a transfer ended."""

    def __init__(self, hung, told, errors, goodput, counters):
        self.hung, self.goodput, self.counters = hung, goodput, counters
        self.client_status, self.server_status = told
        self.errors = errors

    @property
    def crashed(self):
        """By a signal that is not ours."""
        ours = {-signal.SIGTERM, -signal.SIGKILL} if self.hung else {-signal.SIGTERM}
        return any(status < 0 and status not in ours
                   for status in (self.client_status, self.server_status))

    @property
    def is_right(self):
        return not self.hung and self.client_status == 0 and not self.crashed

    @property
    def killed(self):
        """Whether the queue pair died; data that is wrong is another thing."""
        return not self.is_right and not self.is_wrong

    @property
    def is_wrong(self):
        return any("SHA-256" in text for text in self.errors)

    def words(self):
        if self.crashed:
            return f"crashed: {self.client_status}, {self.server_status}"
        if self.hung:
            return "hung"
        if self.is_right:
            return "well"
        said = (self.errors[0] or self.errors[1] or f"status {self.client_status}").splitlines()[-1]
        return said.removeprefix("weft perf: ")

    def unbalanced(self):
        """A sentence where a driver's counters do not add up."""
        for side, said in self.counters.items():
            io = said["io"]
            drops = sum(n for name, n in io.items() if name.startswith("drop_"))
            if io["rx"] != io["rx_delivered"] + io["rx_passed_on"] + drops:
                return f"counters of the {side} do not balance: {io}"
        return None

    def drops(self):
        """What was dropped and why, at both ends, the most frequent first."""
        found = {}
        for said in self.counters.values():
            for part in ("rc", "mrc", "io"):
                for name, n in said.get(part, {}).items():
                    if n and (name.startswith("drop_") or name in ("rx_cnp", "rx_nak", "rx_nack",
                                                                   "rx_endpoint", "rx_trimmed")):
                        found[name] = found.get(name, 0) + n
        return dict(sorted(found.items(), key=lambda item: -item[1]))
