"""What is run between the peers: the operations, and how one of them is run.

The client is the requester of an operation, the server its responder; each operation runs in both
roles. Programs are those of Debian, and peer.c, which checks every byte.
"""
import os
import re
import subprocess
import time

import lab

WEFT_ROLE, RXE_ROLE = "weft > rxe", "rxe > weft"    # who is client of whom
ROLES = (WEFT_ROLE, RXE_ROLE)
# The columns: over IPv4 the ICRC covers a field that a socket does not show, so `udp` cannot talk
# to other implementations there.
COLUMNS = (("udp", lab.V6), ("raw", lab.V4))
LIMIT_S = 90
FIRST_PORT = 18600
LOSS_PER_THOUSAND = 30


class Operation:
    """One line of the matrix: {device}, {gid} and {port} stand in its command."""

    def __init__(self, name, command, loss=0, loses_packets=False, roles=ROLES):
        self.name, self.command, self.loss, self.roles = name, command, loss, roles
        # The peer has no queue pair for some of the packets, and so does not count them.
        self.loses_packets = loses_packets


def pingpong(name, options, **more):
    return Operation(name, "ibv_rc_pingpong -d {device} -g {gid} -p {port} -c " + options, **more)


def perftest(program, options="-n 20", note=""):
    return Operation(program + note,
                     program + " -d {device} -x {gid} -p {port} -F -u 17 " + options)


def peer(case, options="", note="", **more):
    return Operation(case + note, "peer -d {device} -g {gid} -p {port} " + options + " " + case,
                     **more)


# perftest asks for as many reads at once as its own device can, which the other's may not.
FEW_READS = "-n 20 -o 8"
DATA = ("send", "send-imm", "write", "write-imm", "read", "read-back", "fetch-add", "cmp-swap")
OPERATIONS = [
    pingpong("pingpong", "-n 40 -s 4096 -m 1024"),
    pingpong("pingpong 64 KiB + 1", "-n 10 -s 65537 -m 4096 -e"),
    perftest("ib_send_bw"),
    perftest("ib_send_bw", "-n 20 -b", " both ways"),
    perftest("ib_send_lat"),
    perftest("ib_write_bw"),
    perftest("ib_write_bw", "-n 20 -b", " both ways"),
    perftest("ib_write_lat"),
    perftest("ib_read_bw", FEW_READS),
    perftest("ib_read_bw", FEW_READS + " -b", " both ways"),
    perftest("ib_read_lat", FEW_READS),
    perftest("ib_atomic_bw", FEW_READS + " -A FETCH_AND_ADD", " fetch-add"),
    perftest("ib_atomic_bw", FEW_READS + " -A CMP_AND_SWAP", " cmp-swap"),
    perftest("ib_atomic_lat", FEW_READS + " -A FETCH_AND_ADD", " fetch-add"),
    perftest("ib_atomic_lat", FEW_READS + " -A CMP_AND_SWAP", " cmp-swap"),
    *(peer(case, note=", every byte checked") for case in DATA),
    *(peer(case, "-m 256", ", PMTU 256") for case in ("send", "write", "read")),
    peer("bad-key", note=": remote access error"),
    peer("out-of-range", note=": remote access error"),
    peer("no-right", note=": remote access error"),
    peer("closed", note=": NAK, invalid request"),
    # rxe does not even post such a request; and to what is too long it answers with another code.
    peer("odd-atomic", note=": NAK, invalid request", roles=(WEFT_ROLE,)),
    peer("long-send", note=": NAK, invalid request", roles=(RXE_ROLE,)),
    peer("long-send-other", note=": NAK, operation error", roles=(WEFT_ROLE,)),
    peer("rnr", note=": RNR NAK, retries exceeded"),
    peer("rnr-recovered", note=": RNR NAK, then success"),
    peer("gone", note=": transport retries exceeded", loses_packets=True),
    *(peer(case, "-t 16", ", loss", loss=LOSS_PER_THOUSAND) for case in DATA),
]


class Weft:
    """This side: Debian's programs with libweft-verbs below them."""

    def __init__(self, build, driver, counters):
        self.library = build / "src/verbs/libweft-verbs.so"
        self.counters = counters
        self.peer = build / "tests/interop/peer"
        self.device, self.driver = "weft_rc0", driver

    def start(self, command):
        words = command.split()
        if words[0] == "peer":
            words[0] = str(self.peer)
        env = {**os.environ, "LD_PRELOAD": str(self.library), "WEFT_INTERFACES": "weft0",
               "WEFT_VERBOSE": "1", "WEFT_DRIVER": self.driver,
               "WEFT_COUNTERS": str(self.counters)}
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace", env=env)

    def finish(self, process, limit_s):
        try:
            out = process.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            return -1, process.communicate()[0] + f"(no end after {limit_s} s)"
        return process.returncode, out

    def gids(self):
        """The places of the addresses in the GID table; or why there are none."""
        if self.driver != "udp" and b"WEFT_DRIVER" not in self.library.read_bytes():
            return f"libweft-verbs has no driver but udp: {self.driver} is not there", {}
        status, text = self.finish(self.start(f"ibv_devinfo -v -d {self.device}"), 30)
        return (None, places(text)) if status == 0 else (text.strip(), {})

    @staticmethod
    def listens(port):
        for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
            with open(table) as rows:
                if any(row.split()[3] == "0A" and row.split()[1].endswith(f":{port:04X}")
                       for row in list(rows)[1:]):
                    return True
        return False


def places(devinfo):
    found = {address: int(n) for n, address in
             re.findall(r"GID\[\s*(\d+)\]:\s*(?:::ffff:)?(\S+), RoCE v2", devinfo)}
    ours = {**{a: f for f, a in lab.WEFT_ADDRESS.items()},
            **{a: f for f, a in lab.RXE_ADDRESS.items()}}
    return {ours[address]: n for address, n in found.items() if address in ours}


class Runner:
    """Runs operations between weft and the guest."""

    def __init__(self, wire, guest):
        self.wire, self.guest, self.port = wire, guest, FIRST_PORT
        self.lossy = dict.fromkeys(lab.COUNTED, 0)     # of all operations with loss
        self.rxe_gids = places(guest.run("ibv_devinfo -v -d rxe0")[1])

    def run(self, operation, role, family, weft, weft_gid):
        """Whether it passed, and what is to be said about it."""
        self.port += 1
        ours = operation.command.format(device=weft.device, gid=weft_gid, port=self.port)
        theirs = operation.command.format(device="rxe0", gid=self.rxe_gids[family], port=self.port)
        self.wire.set_loss(operation.loss)
        before = self.guest.counters()
        ends = (self.weft_asks if role == WEFT_ROLE else self.rxe_asks)(weft, ours, theirs)
        for who, (status, text) in ends.items():
            if status != 0:
                tail = "; ".join(f"{name}: {' / '.join(said.strip().splitlines()[-4:])}"
                                 for name, (_, said) in ends.items())
                return False, f"{who} ended with {status}: {tail}"
        return self.balance(operation, before)

    def weft_asks(self, weft, ours, theirs):
        server = self.guest.start(theirs, LIMIT_S)
        status, text = self.guest.run(f"until netstat -ltn | grep -q ':{self.port} ';"
                                      " do sleep 0.1; done", 30)
        if status != 0:
            return {"rxe": server.finish()}
        client = weft.start(f"{ours} {lab.RXE_ADDRESS[lab.V4]}")
        status, text = weft.finish(client, LIMIT_S)
        if status != 0:
            self.stop_guest()
        return {"weft": (status, text), "rxe": server.finish()}

    def rxe_asks(self, weft, ours, theirs):
        server = weft.start(ours)
        end = time.monotonic() + 30
        while not weft.listens(self.port) and server.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        client = self.guest.run(f"{theirs} {lab.WEFT_ADDRESS[lab.V4]}", LIMIT_S)
        return {"rxe": client, "weft": weft.finish(server, 10 if client[0] else LIMIT_S)}

    def stop_guest(self):
        """Ends what an operation that failed may have left in the guest."""
        self.guest.run("for p in $(ps -o pid,args | sed -n"
                       f" 's/^ *\\([0-9]*\\) .*-p {self.port} .*/\\1/p'); do kill -9 $p; done")

    def balance(self, operation, before):
        """Every packet on the wire was sent and received by somebody who counted it."""
        wire = self.wire.counts()
        after = self.guest.counters()
        sent, received = (after[name] - before[name] for name in ("sent_pkts", "rcvd_pkts"))
        to_rxe = wire["weft_sent"] - wire["weft_dropped"]
        if sent != wire["rxe_sent"]:
            return False, f"counters: rxe sent {sent}, the wire saw {wire['rxe_sent']}"
        if received != to_rxe and not (operation.loses_packets and received < to_rxe):
            return False, f"counters: rxe received {received}, the wire brought {to_rxe}"
        if not operation.loss:
            return True, ""
        for name, n in wire.items():
            self.lossy[name] += n
        return True, (f"lost {wire['weft_dropped']} of {wire['weft_sent']} from weft,"
                      f" {wire['rxe_dropped']} of {wire['rxe_sent']} from rxe")
