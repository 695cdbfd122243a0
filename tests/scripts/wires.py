"""Two hosts with some ports each, in network namespaces, and the wires between them.

    with Wires(ports=4, loss=1) as wires:
        wires.run("a", ["ip", "address"])

Port i of both is the interface p{i}, with fd77:0:0:{i}::1 and 10.77.{i}.1 at a, ...::2 and ...2
at b. With a middle the wires pass a bridge each in a third namespace, "m", where nft can drop
frames; without, p{i} and p{i} are the ends of one veth pair. A namespace lives as long as the process that holds it,
which dies with this one: nothing is left behind, whatever happens. Needs root, iproute2, util-linux
and, for losses, nftables.
"""
import os
import shutil
import subprocess

LIMIT_S = 60
SEGMENTS = "fcbb:bb00::/32"  # by every port to the other host
HOLD_S = 3600
FIRST_INDEX = 1000


class Missing(Exception):
    """The machine lacks what the wires need."""


def check_machine(*tools):
    if os.geteuid() != 0:
        raise Missing("needs root for network namespaces")
    for tool in ("ip", "nsenter", "setpriv", "unshare", *tools):
        if not shutil.which(tool):
            raise Missing(f"there is no {tool}")


def address(side, port=0, family=6):
    end = 1 if side == "a" else 2
    return f"fd77:0:0:{port}::{end}" if family == 6 else f"10.77.{port}.{end}"


class Wires:
    def __init__(self, ports=1, mtu=9000, loss=0, has_middle=None, queues=1, has_indices=False):
        self.ports, self.mtu, self.loss, self.queues = ports, mtu, loss, queues
        self.has_middle = bool(loss) if has_middle is None else has_middle
        self.holders = {}
        self.has_indices, self.n_pairs = has_indices, 0

    def __enter__(self):
        check_machine(*(["nft"] if self.loss else []))
        try:
            for side in "abm" if self.has_middle else "ab":
                self.hold(side)
            for port in range(self.ports):
                self.join(port)
            if self.loss:
                self.lose(self.loss)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for holder in self.holders.values():
            holder.kill()
            holder.wait(timeout=20)
        self.holders = {}

    def hold(self, side):
        holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sh", "-c",
             # Nobody has these addresses twice; the look for that takes a second.
             "for d in all default; do echo 0 > /proc/sys/net/ipv6/conf/$d/accept_dad; done; "
             f"echo here; exec sleep {HOLD_S}"], stdout=subprocess.PIPE, text=True)
        self.holders[side] = holder
        if holder.stdout.readline() != "here\n":
            raise Missing("no network namespace can be made")
        self.ip(side, "link", "set", "lo", "up")

    def command(self, side, words):
        return ["nsenter", "--target", str(self.holders[side].pid), "--net", *words]

    def run(self, side, words, **more):
        more = {"timeout": LIMIT_S, "capture_output": True, "text": True, "check": True, **more}
        return subprocess.run(self.command(side, words), **more)

    def start(self, side, words, **more):
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
        return subprocess.Popen(self.command(side, words), **more)

    def ip(self, side, *words):
        return self.run(side, ["ip", *words])

    def pair(self, left, right):
        """A veth pair; each end is (side, interface). With has_indices those of the ends differ: one
        whose peer has the same in its namespace is for the kernel's watch of links like one without
        a peer, and it may take a second from its carrier to its first frame."""
        self.n_pairs += 1
        index = ["index", str(FIRST_INDEX + self.n_pairs)] if self.has_indices else []
        queues = ["numrxqueues", str(self.queues), "numtxqueues", str(self.queues)]
        self.ip(left[0], "link", "add", left[1], *index, "mtu",
                str(self.mtu), *queues, "type", "veth", "peer", "name", right[1], "mtu",
                str(self.mtu), *queues, "netns", str(self.holders[right[0]].pid))

    def join(self, port):
        name = f"p{port}"
        if not self.has_middle:
            self.pair(("a", name), ("b", name))
        for side in "ab":
            if self.has_middle:
                self.pair((side, name), ("m", f"{side}{port}"))
            self.raise_port(side, port)
        if self.has_middle:
            bridge = f"br{port}"
            self.ip("m", "link", "add", bridge, "mtu", str(self.mtu), "type", "bridge",
                    "mcast_snooping", "0")
            for side in "ab":
                self.ip("m", "link", "set", f"{side}{port}", "master", bridge, "up")
            self.ip("m", "link", "set", bridge, "up")

    def raise_port(self, side, port):
        """Gives the interface of a port its addresses and takes it up."""
        name = f"p{port}"
        self.ip(side, "address", "add", f"{address(side, port, 4)}/24", "dev", name)
        self.ip(side, "address", "add", f"{address(side, port)}/64", "dev", name, "nodad")
        self.ip(side, "link", "set", name, "up")
        other = address("b" if side == "a" else "a", port)
        self.ip(side, "route", "add", f"{SEGMENTS}", "via", other, "dev", name, "metric",
                str(100 + port))

    def lose(self, percent):
        """Of what passes the middle, each way and on every port, so many frames of a hundred."""
        rules = "flush ruleset\n"
        for port in range(self.ports):
            for side in "ab":
                rules += (f"table netdev t_{side}{port} {{\nchain c {{\n"
                          f"type filter hook ingress device \"{side}{port}\" priority 0\n"
                          f"meta length > 90 numgen random mod 100 < {percent} counter drop\n"
                          "}\n}\n")
        self.run("m", ["nft", "-f", "-"], input=rules)
