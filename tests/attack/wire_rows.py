"""What strangers may send: rows of the table that are floods of forged packets at a running transfer.

Each row: its name, the transport, what is forged, to which end, in whose name. `must` is what has to hold on
this tree, in words that `judge` knows; `later` what is wanted and does not hold, or not always: to switch one on,
move its word from one to the other, in its line.

  right   the transfer ended well, and its data was right where `perf` verifies
  alive   no queue pair died, nobody crashed or hung
  up      nobody crashed or hung; the queue pair may have died
  silent  the stranger got no answer
  counted what the drivers received is delivered, passed on or counted as dropped
"""
import dataclasses
import json
import socket
import subprocess
import time

from victims import ADDRESSES, BEHIND, FAMILIES, INTERVAL_S, LIMIT_S, MARGIN_S, PORT, Pair

RATE, RATE_SHORT, RATE_MOST = 100_000, 20_000, 1_000_000
CYCLES, ATTACK_S, QUIET_S = 3, 0.5, 0.4
SHORT_S, SWEEP_S = 0.25, 0.7
START_TRIES = 3
# Sequence numbers that a packet of a sweep stands for: of RC as many as are out, in the short form with the
# smallest PMTU; of MRC what a NACK may name.
STRIDES = {"rc": 240, "mrc": 16384}
STRIDE_SHORT, PMTU_SHORT = 700, "256"
IPV6_FREEBIND = 78
FOREIGN_TAG = 0xEE  # of no process
CALM = "right alive up silent counted"
# A packet in the peer's name with the right numbers is the peer's; of 2^24 sequence numbers some hundreds are right.
GUESS = "up counted"
DCQCN = {"WEFT_CC": "dcqcn"}
CNP_PORT = "[weft_rc0]\ntransport = rc\nports = lo\ncc = dcqcn\ncnp-port = peer\n"


@dataclasses.dataclass
class Row:
    name: str
    transport: str
    kind: str
    to: str = "server"
    who: str = "stranger"
    must: str = CALM
    later: str = ""
    qp: str = "known"
    op: str = "write"
    family: int = 4
    rate: int = RATE
    words: tuple = ()
    sweep: bool = False  # through all sequence numbers, so that some are right
    env: dict = dataclasses.field(default_factory=dict)
    devices: str = ""  # their description
    short: bool = True  # also in the short form

    @property
    def title(self):
        return f"{self.transport}{'' if self.family == 4 else ' IPv6'}: {self.name}"

    @property
    def case(self):
        kept = "".join(c if c.isalnum() else "_" for c in self.title.lower())
        return "_".join(part for part in kept.split("_") if part)


def common(transport, data, fatal):
    """Floods that no queue pair should notice."""
    return [
        Row("to another socket (what the machine costs)", transport, "random", to="sink", must="up",
            short=False),
        Row("random bytes", transport, "random", words=("--body", "100")),
        Row("random bytes at 10^6/s", transport, "random", rate=RATE_MOST,
            words=("--body", "64", "--burst", "32"), must="up counted", later="right alive silent", short=False),
        Row("well formed, wrong ICRC", transport, data, who="peer", words=("--wrong-icrc",), short=False),
        Row("fatal, wrong ICRC", transport, fatal, to="client", who="peer", words=("--wrong-icrc",), sweep=True),
        Row("unknown queue pair", transport, data, qp="unknown"),
        Row("queue pair of no process", transport, data, qp="foreign"),
        Row("every length 0..200", transport, f"{transport}-lengths", who="peer", rate=20_000),
        Row("every length 0..200, stranger", transport, f"{transport}-lengths", must="right alive up counted",
            later="silent", short=False),
    ]


def wider(transport, data):
    """The same over IPv6, as far as something differs there."""
    return [
        Row("random bytes", transport, "random", family=6, words=("--body", "100"), short=False),
        Row("well formed, wrong ICRC", transport, data, who="peer", family=6, words=("--wrong-icrc",),
            short=False),
        Row("data, stranger", transport, data, family=6),
    ]


RC_ROWS = [
    *common("rc", "rc-write", "rc-nak"),
    Row("write, stranger", "rc", "rc-write"),
    Row("ACK, stranger", "rc", "rc-ack", to="client", short=False),
    Row("NAK, stranger", "rc", "rc-nak", to="client", sweep=True),
    Row("CNP, stranger", "rc", "rc-cnp", to="client", env=DCQCN, short=False),
    Row("write, as the peer", "rc", "rc-write", who="peer", must=GUESS, later="right"),
    Row("send, as the peer", "rc", "rc-send", who="peer", must=GUESS, later="right", short=False),
    Row("read, as the peer", "rc", "rc-read", who="peer", must=GUESS, later="right", short=False),
    Row("ACK, as the peer", "rc", "rc-ack", to="client", who="peer", must=GUESS, later="right", short=False),
    Row("NAK, as the peer", "rc", "rc-nak", to="client", who="peer", must=GUESS, short=False),
    Row("read response, as the peer", "rc", "rc-response", to="client", who="peer", op="read", must=GUESS,
        later="right", short=False),
    Row("CNP, as the peer", "rc", "rc-cnp", to="client", who="peer", env=DCQCN, must="right alive up counted"),
    Row("CNP, as the peer, cnp-port = peer", "rc", "rc-cnp", to="client", who="peer", devices=CNP_PORT,
        must="right alive up counted", short=False),
    *wider("rc", "rc-write"),
]

MRC_ROWS = [
    *common("mrc", "mrc-write", "mrc-nack"),
    Row("write, stranger", "mrc", "mrc-write"),
    Row("SACK, stranger", "mrc", "mrc-sack", to="client", short=False),
    Row("NACK, stranger", "mrc", "mrc-nack", to="client", sweep=True),
    Row("probe, stranger", "mrc", "mrc-probe", short=False),
    Row("EV probe, stranger", "mrc", "mrc-ev-probe", must="right alive up counted", later="silent"),
    Row("port status, stranger", "mrc", "mrc-ports", to="client", must="right alive up counted", later="silent"),
    Row("write, as the peer", "mrc", "mrc-write", who="peer", must=GUESS, later="right", short=False),
    Row("ACK, as the peer", "mrc", "mrc-ack", to="client", who="peer", must=GUESS, later="right", short=False),
    Row("NAK, as the peer", "mrc", "mrc-nak", to="client", who="peer", must=GUESS, short=False),
    Row("SACK, as the peer", "mrc", "mrc-sack", to="client", who="peer", must=GUESS, later="right"),
    Row("NACK, as the peer", "mrc", "mrc-nack", to="client", who="peer", must=GUESS, short=False),
    Row("probe, as the peer", "mrc", "mrc-probe", who="peer", must="right alive up counted"),
    Row("EV probe, as the peer", "mrc", "mrc-ev-probe", who="peer", must="right alive up counted"),
    Row("port status, as the peer", "mrc", "mrc-ports", to="client", who="peer", must="right alive up counted"),
    Row("trimmed, stranger, on raw", "mrc", "mrc-write", words=("--cut", "24"), env={"WEFT_DRIVER": "raw"}),
    Row("trimmed, as the peer, on raw", "mrc", "mrc-write", who="peer", words=("--cut", "24"),
        env={"WEFT_DRIVER": "raw"}, must=GUESS, later="right", short=False),
    *wider("mrc", "mrc-write"),
]

ROWS = RC_ROWS + MRC_ROWS


def stride(row, is_short):
    return STRIDE_SHORT if is_short and row.transport == "rc" else STRIDES[row.transport]


def length(row, is_short):
    """Seconds of a flood: of a sweep as long as one takes also on a busy machine."""
    return (SWEEP_S if row.sweep else SHORT_S) if is_short else ATTACK_S


def forge_words(row, pair, seed, rate, ms):
    who = ADDRESSES[row.family]
    other = "client" if row.to == "server" else "server"
    source = who[other] if row.who == "peer" else who["stranger"]
    words = [*BEHIND, pair.place.forge, row.kind, "--from", source, "--to", who[row.to], "--rate", rate,
             "--seed", seed, "--ms", ms, "--count", 4_000_000, *row.words]
    number = pair.numbers.get("client" if row.to == "client" else "server", 0)
    if row.qp == "known":
        words += ["--qp", number]
    else:
        words += ["--tag", FOREIGN_TAG if row.qp == "foreign" else number >> 16]
    return [str(word) for word in words]


def open_sink(family):
    """Somebody else's socket, that nobody reads: what packets cost that weft never sees."""
    sink = socket.socket(FAMILIES[family], socket.SOCK_DGRAM)
    if family == 6:
        sink.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    sink.bind((ADDRESSES[family]["sink"], PORT))
    return sink


def flood(row, pair, seed, is_short):
    """Quiet and attacked by turns; what the forger says of all."""
    total = {"sent": 0, "ns": 0, "answers": 0, "answer_bytes": 0, "has_answers": False}
    for cycle in range(1 if is_short else CYCLES):
        time.sleep(INTERVAL_S if is_short else QUIET_S)
        if not pair.is_running():
            break
        rate = min(row.rate, RATE_SHORT) if is_short and not row.sweep else row.rate
        words = forge_words(row, pair, seed + cycle, rate, int(length(row, is_short) * 1000))
        if row.sweep:
            words += ["--stride", str(stride(row, is_short)), "--start", str(total["sent"] * stride(row, is_short))]
        start = time.monotonic()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate(timeout=LIMIT_S)
        if process.returncode:
            raise RuntimeError(f"the forger: {err.strip()}")
        said = json.loads(out)
        pair.windows.append((start + MARGIN_S, start + MARGIN_S + said["ns"] / 1e9))
        for name in ("sent", "ns", "answers", "answer_bytes"):
            total[name] += said[name]
        total["has_answers"] = said["has_answers"]
    return total


def attempt(row, place, seed, is_short, seconds):
    """A transfer of so many seconds under attack."""
    sink = open_sink(row.family) if row.to == "sink" else None
    options = ("--pmtu", PMTU_SHORT) if row.sweep and is_short and row.transport == "rc" else ()
    pair = Pair(place, row.transport, seconds, row.op, row.family, row.env, options, row.devices)
    try:
        pair.learn()
        total = flood(row, pair, seed, is_short)
        return total, pair.finish()
    finally:
        pair.stop()
        if sink:
            sink.close()


def attack(row, place, seed, is_short):
    """One row; a dictionary of what is known of it."""
    seconds = 2 * INTERVAL_S + length(row, True) + 0.3 if is_short else CYCLES * (ATTACK_S + QUIET_S + 0.06) + 0.4
    # On a busy machine a transfer may be over before the forger has begun.
    for _ in range(START_TRIES):
        total, outcome = attempt(row, place, seed, is_short, seconds)
        if total["sent"] or not outcome.is_right:
            break
        seconds *= 2
    quiet, attacked = outcome.goodput["quiet"], outcome.goodput["attacked"]
    return {
        "row": row.title,
        "packets": total["sent"],
        "rate": round(total["sent"] / (total["ns"] / 1e9)) if total["ns"] else 0,
        "quiet_gbps": round(quiet / 1e9, 2) if quiet else None,
        "ratio": round(attacked / quiet, 2) if quiet and attacked is not None else None,
        "ended": outcome.words(),
        "right": outcome.is_right,
        "killed": int(outcome.killed),
        "crashed": outcome.crashed,
        "hung": outcome.hung,
        "answers": total["answers"] if total["has_answers"] else None,
        "answer_bytes": total["answer_bytes"] if total["has_answers"] else None,
        "counters": outcome.drops(),
        "counted": outcome.unbalanced(),
        "must": row.must,
        "later": row.later,
    }


def judge(got, words):
    """Which of the words do not hold, with the reason."""
    checks = {
        "right": got["right"] or f"the transfer ended: {got['ended']}",
        "alive": not (got["killed"] or got["crashed"] or got["hung"]) or f"ended: {got['ended']}",
        "up": not (got["crashed"] or got["hung"]) or f"ended: {got['ended']}",
        "silent": not got["answers"] or f"{got['answers']} answers to a stranger",
        "counted": got["counted"] is None or got["counted"],
    }
    found = [checks[word] for word in words.split() if checks[word] is not True]
    if got["packets"] < 100:
        found.append(f"{got['packets']} packets were forged, too few to tell")
    return found
