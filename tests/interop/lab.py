"""The place of an interop run: two network namespaces, a wire between them, and the guest.

    weft0 (this process) -- veth -- wire0 | rules of nft | tap0 -- virtio-net (guest) -- rxe0

This process and the programs on weft live in one namespace; the other one, the wire, has no address
and only hands frames from one of its two interfaces to the other. There every RoCE packet is
counted, and dropped if the run wants loss: outside of both peers, and so the same for every driver
of weft. All of it ends with this process, which `interop` starts in namespaces of its own.
"""
import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import time

V4, V6 = "IPv4", "IPv6"
WEFT_ADDRESS = {V4: "192.0.2.1", V6: "2001:db8::1"}
RXE_ADDRESS = {V4: "192.0.2.2", V6: "2001:db8::2"}
PREFIX = {V4: 24, V6: 64}
MTU = 4500                      # room for the headers around 4096 bytes
BOOT_S = 180
COMMAND_PORT = 7
COUNTED = ("weft_sent", "weft_dropped", "rxe_sent", "rxe_dropped")
MACHINES = {
    "aarch64": ("qemu-system-aarch64", "ttyAMA0", ("-M", "virt", "-cpu", "max,pauth-impdef=on")),
    "x86_64": ("qemu-system-x86_64", "ttyS0", ("-M", "q35", "-cpu", "max")),
}


class Broken(Exception):
    """The lab does not stand; the text says what to do."""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                          **options)
    if done.returncode:
        raise Broken(f"{' '.join(map(str, command))}: {done.stdout.strip()}")
    return done.stdout


def missing():
    """What this machine lacks, each with what to do about it."""
    name = platform.machine()
    if name not in MACHINES:
        return [f"no guest is known for a {name}"]
    wants = [f"needs {tool}: run scripts/setup interop"
             for tool in (MACHINES[name][0], "ip", "nft", "dumpcap", "nsenter")
             if not shutil.which(tool)]
    if not os.path.exists("/dev/net/tun"):
        wants.append("no /dev/net/tun: load the module tun (modprobe tun), or let the container"
                     " have the device")
    return wants


class Wire:
    """The namespace between the two peers."""

    def __init__(self, folder):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        wait_for(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own, 10,
                 "a network namespace")
        self.inside = ["nsenter", "-t", str(self.holder.pid), "-n"]
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "weft0", "type", "veth", "peer", "name", "wire0", "netns",
            self.holder.pid)
        self.run("ip", "tuntap", "add", "tap0", "mode", "tap")
        self.run("ip", "link", "set", "tap0", "txqueuelen", 10000)
        for tell, interface in ((run, "weft0"), (self.run, "wire0"), (self.run, "tap0")):
            tell("ip", "link", "set", interface, "addrgenmode", "none")
            tell("ip", "link", "set", interface, "mtu", MTU, "up")
        # Bursts that leave weft as one buffer are to be packets on the wire, to count and to drop.
        run("ip", "link", "set", "weft0", "gso_max_segs", 1)
        for family in (V4, V6):
            run("ip", "addr", "add", f"{WEFT_ADDRESS[family]}/{PREFIX[family]}", "dev", "weft0",
                *(("nodad",) if family == V6 else ()))
        self.set_loss(0)
        self.capture = self.start_capture(folder)

    def run(self, *command):
        return run(*self.inside, *command)

    def set_loss(self, per_thousand):
        """Drops that many RoCE packets of a thousand, at random, in each direction. The counters
        start anew."""
        def chain(interface, to, who):
            rules = ["udp dport 4791 counter name " + who + "_sent"]
            if per_thousand:
                rules += [f"udp dport 4791 numgen random mod 1000 < {per_thousand}"
                          f" counter name {who}_dropped drop"]
            return [f"chain from_{who} {{",
                    f"type filter hook ingress device {interface} priority 0;",
                    *rules, f"fwd to {to}", "}"]
        lines = ["table netdev wire", "delete table netdev wire", "table netdev wire {",
                 *(f"counter {name} {{ }}" for name in COUNTED),
                 *chain("wire0", "tap0", "weft"), *chain("tap0", "wire0", "rxe"), "}"]
        self.run("nft", "\n".join(lines))

    def counts(self):
        """The RoCE packets since the last set_loss, by the names of COUNTED."""
        listing = self.run("nft", "list", "counters", "table", "netdev", "wire")
        return {name: int(n) for name, n in
                re.findall(r"counter (\w+) \{\s*packets (\d+)", listing)}

    def start_capture(self, folder):
        """Writes what the guest sends and what reaches it into a file."""
        self.captured = folder / "tap0.pcap"
        self.counters = folder / "weft-counters.json"
        self.counters.unlink(missing_ok=True)
        log = folder / "dumpcap.log"
        # To a file that is open already: dumpcap gives up the right to open it in others' folders.
        with open(self.captured, "wb") as out, open(log, "w") as err:
            process = subprocess.Popen(
                [*self.inside, "dumpcap", "-q", "-P", "-i", "tap0", "-f", "udp dst port 4791",
                 "-B", "64", "-w", "-"], stdout=out, stderr=err)
        wait_for(lambda: self.captured.stat().st_size > 0, 20, f"a capture, see {log}")
        return process

    def stop_capture(self):
        """How many packets were captured, and how many the capture missed."""
        time.sleep(1)
        self.capture.terminate()
        self.capture.wait(20)
        log = (self.captured.parent / "dumpcap.log").read_text()
        got = re.search(r"received/dropped on interface 'tap0': (\d+)/(\d+)", log)
        return (int(got.group(1)), int(got.group(2))) if got else (0, 0)


class Guest:
    """The machine with Soft-RoCE. Commands go over the wire, to a shell that listens there."""

    def __init__(self, wire, image, folder):
        qemu, console, machine = MACHINES[platform.machine()]
        self.console = folder / "console.log"
        words = [f"console={console} quiet loglevel=4 panic=-1 interop.mtu={MTU}"]
        words += [f"interop.{name}={RXE_ADDRESS[family]}/{PREFIX[family]}"
                  for name, family in (("v4", V4), ("v6", V6))]
        with open(self.console, "w") as log:
            self.process = subprocess.Popen(
                [*wire.inside, qemu, *machine, "-smp", "1", "-m", "384", "-display", "none",
                 "-serial", "stdio", "-monitor", "none", "-no-reboot",
                 "-kernel", str(image / "kernel"), "-initrd", str(image / "initramfs"),
                 "-append", " ".join(words),
                 "-netdev", "tap,id=link,ifname=tap0,script=no,downscript=no",
                 "-device", f"virtio-net-pci,netdev=link,host_mtu={MTU},romfile="],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(self.is_ready, BOOT_S, f"the guest, see {self.console}")
        wait_for(lambda: self.run("true", 10)[0] == 0, BOOT_S, "the guest's shell")
        # rxe gives up on a peer whose neighbour entry takes a second, as the first of a new link may.
        for address in WEFT_ADDRESS.values():
            wait_for(lambda: self.run(f"ping -c 1 -W 1 {address}", 10)[0] == 0, BOOT_S,
                     f"the guest's way to {address}")

    def is_ready(self):
        if self.process.poll() is not None:
            raise Broken(f"the guest ended: {self.console.read_text(errors='replace')[-2000:]}")
        return "guest: ready" in self.console.read_text(errors="replace")

    def start(self, command, limit_s):
        return Command(command, limit_s)

    def run(self, command, limit_s=60):
        """Exit status and output."""
        return Command(command, limit_s).finish()

    def counters(self):
        _, text = self.run("cd /sys/class/infiniband/rxe0/ports/1/hw_counters && grep . *")
        return {name: int(n) for name, n in re.findall(r"(?m)^(\w+):(\d+)$", text)}

    def stop(self):
        self.process.kill()
        self.process.wait(20)


class Command:
    """One command line in the guest. It is ended there, too, when its time is over."""

    def __init__(self, command, limit_s):
        self.limit_s, self.end = limit_s, None
        quoted = command.replace("'", "'\\''")
        try:
            self.link = socket.create_connection((RXE_ADDRESS[V4], COMMAND_PORT), timeout=10)
            self.link.sendall(f"timeout -s KILL {limit_s} sh -c '{quoted}' </dev/null 2>&1;"
                              " status=$?; echo; echo exit=$status; exit\n".encode())
        except OSError as why:
            self.link, self.end = None, (-1, f"no shell in the guest: {why}")

    def finish(self):
        said, end = b"", time.monotonic() + self.limit_s + 10
        while self.end is None:
            self.link.settimeout(max(0.1, end - time.monotonic()))
            try:
                more = self.link.recv(65536)
            except OSError as why:
                self.end = (-1, said.decode(errors="replace") + f"\n(no more of the guest: {why})")
                break
            said += more
            if not more:
                text = said.decode(errors="replace")
                status = re.search(r"\nexit=(\d+)\n\Z", text)
                self.end = ((int(status.group(1)), text[:status.start()]) if status
                            else (-1, text + "\n(the guest said no exit status)"))
        if self.link:
            self.link.close()
        return self.end


def wait_for(condition, limit_s, what):
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise Broken(f"waited {limit_s} s in vain for {what}")
        time.sleep(0.05)


def folder_for(base):
    """A fresh folder for the logs of this run, which the user behind sudo may remove."""
    path = pathlib.Path(base) / "run"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    if "SUDO_UID" in os.environ:
        os.chown(path, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]))
    return path
