"""What the scripts share that hold `weft decode` against other people's decoders.

A script is a table of cases, name -> function(Context). A case raises Mismatch, or returns.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

ROCE_PORT = 4791
DSCP_TRIMMED, DSCP_TRIMMED_LASTHOP = 12, 14  # as in the golden captures
SKIP = 77


class Mismatch(Exception):
    """Two decoders disagree, or one did not do what it should."""


class Context:
    """Where things are, for one run of one case."""

    def __init__(self, weft, source, scratch):
        self.weft = weft
        self.source = source
        self.scratch = scratch

    def golden(self, name):
        return self.source / "tests" / "golden" / f"{name}.pcap"

    def decode(self, capture, *options):
        """The packets of a capture as weft sees them."""
        run = subprocess.run([self.weft, "decode", "--json", *options, str(capture)],
                             capture_output=True, text=True, check=False)
        if run.returncode not in (0, 1):
            raise Mismatch(f"weft decode: exit {run.returncode}: {run.stderr.strip()}")
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        return [line for line in lines if "summary" not in line]

    def tshark_text(self, capture, *options, home=None):
        """The output of tshark, which sees no configuration but what the caller put in home."""
        env = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC")
        for name in [n for n in env if n.startswith(("XDG_", "WIRESHARK_"))]:
            del env[name]
        env["HOME"] = str(home or self.scratch)
        run = subprocess.run(["tshark", "-n", "-r", str(capture), *options], env=env,
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise Mismatch(f"tshark: exit {run.returncode}: {run.stderr.strip()}")
        if "Lua Error" in run.stdout or "lua" in run.stderr.lower():
            raise Mismatch(f"Lua error: {(run.stdout + run.stderr).strip()[-300:]}")
        return run.stdout

    def tshark(self, capture, *options, home=None):
        """The packets of a capture as tshark sees them: lists of (layer, content)."""
        text = self.tshark_text(capture, "-T", "json", *options, home=home)
        packets = json.loads(text, object_pairs_hook=Pairs)
        return [packet["_source"]["layers"] for packet in packets]

    def write(self, name, frames, lengths=None):
        """A capture of these frames; lengths, if given, says what they had on the wire."""
        path = self.scratch / f"{name}.pcap"
        with open(path, "wb") as out:
            out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
            for i, frame in enumerate(frames):
                length = lengths[i] if lengths else len(frame)
                out.write(struct.pack("<IIII", 1700000000, i, len(frame), length) + frame)
        return path


class Pairs(list):
    """A JSON object in which a name may stand more than once, as tshark writes them."""

    def __getitem__(self, key):
        if isinstance(key, str):
            return next(value for name, value in self if name == key)
        return super().__getitem__(key)

    def __contains__(self, key):
        return any(name == key for name, _ in self)


def flat(pairs, into=None):
    """Every field below pairs: name -> list of values, in the order of the packet."""
    into = {} if into is None else into
    for name, value in pairs:
        if isinstance(value, Pairs):
            flat(value, into)
        else:
            into.setdefault(name, []).append(value)
    return into


def read_pcap(path):
    """The frames of a classic capture file of Ethernet, in either byte order."""
    data = pathlib.Path(path).read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    frames, at = [], 24
    while at < len(data):
        size, = struct.unpack_from(order + "I", data, at + 8)
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


def number(value):
    """A field's value as a number: tshark and weft write decimal, 0x... or aa:bb:cc."""
    if isinstance(value, int):
        return value
    if value.startswith("0x"):
        return int(value, 16)
    if ":" in value:
        return int(value.replace(":", ""), 16)
    return int(value)


def expect(what, got, want):
    if got != want:
        raise Mismatch(f"{what}: {_short(got)}, not {_short(want)}")


def _short(value):
    text = repr(value)
    return text if len(text) < 200 else f"{text[:200]}..."


def layers(packet, *names):
    """The headers of those names in a packet of weft's, as field dictionaries."""
    return [layer["fields"] for layer in packet["layers"] if layer["header"] in names]


def locate(frame):
    """Where a well-formed frame's headers are: every IP header, the innermost last, and UDP."""
    at, ips = 14, []
    kind = int.from_bytes(frame[12:14], "big")
    while kind in (0x8100, 0x88a8):
        kind = int.from_bytes(frame[at + 2:at + 4], "big")
        at += 4
    kind = {0x0800: 4, 0x86dd: 41}.get(kind)
    while kind in (4, 41, 43):
        if kind == 43:
            kind, at = frame[at], at + 8 + 8 * frame[at + 1]
            continue
        ips.append(at)
        kind, at = (frame[at + 9], at + 20) if kind == 4 else (frame[at + 6], at + 40)
    if kind != 17:
        raise Mismatch("no UDP in this frame")
    return ips, at


def icrc(frame, ip_at, end):
    """The invariant CRC of frame[ip_at:end], a packet without its ICRC; naive on purpose."""
    packet = bytearray(frame[ip_at:end])
    if packet[0] >> 4 == 4:
        masked, udp = [1, 8, 10, 11], 20
    else:
        packet[0] |= 0x0f
        masked, udp = [1, 2, 3, 7], 40
    for at in masked + [udp + 6, udp + 7, udp + 8 + 4]:
        packet[at] = 0xff
    return zlib.crc32(b"\xff" * 8 + packet)


def with_icrc(frame):
    """The frame with the ICRC at its end made right."""
    ips, _ = locate(frame)
    end = len(frame) - 4
    return bytes(frame[:end]) + struct.pack("<I", icrc(frame, ips[-1], end))


# header of weft -> field -> (field of tshark, what weft's number becomes there)
def _same(value):
    return value


NET = {
    "eth": {"dst": ("eth.dst", _same), "src": ("eth.src", _same), "type": ("eth.type", _same)},
    "ipv4": {
        "version": ("ip.version", _same), "ihl": ("ip.hdr_len", lambda v: 4 * v),
        "dscp": ("ip.dsfield.dscp", _same), "ecn": ("ip.dsfield.ecn", _same),
        "length": ("ip.len", _same), "id": ("ip.id", _same), "rsv0": ("ip.flags.rb", _same),
        "df": ("ip.flags.df", _same), "mf": ("ip.flags.mf", _same),
        "fragment": ("ip.frag_offset", lambda v: 8 * v), "ttl": ("ip.ttl", _same),
        "protocol": ("ip.proto", _same), "checksum": ("ip.checksum", _same),
        "src": ("ip.src", _same), "dst": ("ip.dst", _same),
    },
    "ipv6": {
        "version": ("ipv6.version", _same), "dscp": ("ipv6.tclass.dscp", _same),
        "ecn": ("ipv6.tclass.ecn", _same), "flow_label": ("ipv6.flow", _same),
        "length": ("ipv6.plen", _same), "next_header": ("ipv6.nxt", _same),
        "hop_limit": ("ipv6.hlim", _same), "src": ("ipv6.src", _same), "dst": ("ipv6.dst", _same),
    },
    "srh": {
        "next_header": ("ipv6.routing.nxt", _same), "ext_len": ("ipv6.routing.len", _same),
        "routing_type": ("ipv6.routing.type", _same),
        "segments_left": ("ipv6.routing.segleft", _same),
        "last_entry": ("ipv6.routing.srh.last_entry", _same),
        "flags": ("ipv6.routing.srh.flags", _same), "tag": ("ipv6.routing.srh.tag", _same),
    },
    "srh_segment": {"address": ("ipv6.routing.srh.addr", _same)},
    "udp": {
        "sport": ("udp.srcport", _same), "dport": ("udp.dstport", _same),
        "length": ("udp.length", _same), "checksum": ("udp.checksum", _same),
    },
}
VLAN = {"pcp": "priority", "dei": "dei", "vid": "id", "type": "etype"}


def _alike(ours, theirs):
    if isinstance(ours, str) and not ours.startswith("0x"):
        return ours == theirs
    return number(ours) == number(theirs)


def compare_vlans(packet, seen):
    """tshark shows an 802.1ad tag by other names, and its type by a third one."""
    expected = {}
    kinds = [f["type"] for f in layers(packet, "eth", "vlan")]
    for kind, fields in zip(kinds, layers(packet, "vlan")):
        prefix = "ieee8021ad" if kind == 0x88a8 else "vlan"
        for ours, theirs in VLAN.items():
            name = "ieee8021ah.etype" if (prefix, ours) == ("ieee8021ad", "type") else \
                f"{prefix}.{theirs}"
            expected.setdefault(name, []).append(fields[ours])
    for name, values in expected.items():
        expect(name, [number(v) for v in seen.get(name, [])], values)


def compare_net(packet, theirs):
    """Ethernet, VLAN, IP, SRH and UDP: every field of weft's against tshark's."""
    seen = flat([(n, v) for n, v in theirs
                 if n in ("eth", "ieee8021ad", "vlan", "ip", "ipv6", "udp")])
    # The IPv6 dissector repeats the version under IPv4's name.
    if layers(packet, "ipv6"):
        seen.pop("ip.version", None)
    compare_vlans(packet, seen)
    for header, fields in NET.items():
        for ours, (name, becomes) in fields.items():
            values = [becomes(f[ours]) if isinstance(f[ours], int) else f[ours]
                      for f in layers(packet, header)]
            got = seen.get(name, [])
            if len(got) != len(values) or not all(map(_alike, values, got)):
                raise Mismatch(f"{name}: tshark {got}, weft {values} ({header}.{ours})")


class Batch:
    """Many captures in one run of each decoder, because a run is mostly start-up."""

    def __init__(self, captures, weft_options=(), tshark_options=()):
        self.captures = captures
        self.options = (weft_options, tshark_options)
        self.lock = threading.Lock()
        self.packets = None

    def get(self, context, capture):
        """(weft's packet, tshark's packet, frame) for each packet of one of the captures."""
        with self.lock:
            if self.packets is None:
                self.packets = self._decode(context)
        return self.packets[capture]

    def _decode(self, context):
        frames = [(capture, frame) for capture in self.captures for frame in read_pcap(capture)]
        path = context.write("batch", [frame for _, frame in frames])
        ours = context.decode(path, *self.options[0])
        theirs = context.tshark(path, *self.options[1])
        expect("number of packets", (len(ours), len(theirs)), (len(frames), len(frames)))
        packets = {}
        for (capture, frame), mine, other in zip(frames, ours, theirs):
            of_capture = packets.setdefault(capture, [])
            of_capture.append((dict(mine, n=len(of_capture) + 1), other, frame))
        return packets


def _run(name, case, weft, source):
    with tempfile.TemporaryDirectory(prefix="weft-crosscheck-") as scratch:
        try:
            case(Context(weft, source, pathlib.Path(scratch)))
        except Exception as why:  # a case that cannot read its input failed too
            kind = "" if isinstance(why, Mismatch) else f"{type(why).__name__} "
            return f"not ok {name}: {kind}{' '.join(str(why).split())[-400:]}"
    return f"ok {name}"


def need(program):
    """Skips the whole script where a program it compares with is missing."""
    if not shutil.which(program):
        print(f"{program} is not installed: nothing to compare with")
        sys.exit(SKIP)


def main(usage, find_cases, requires=()):
    """Runs the cases of find_cases(source directory); returns the exit status."""
    source = pathlib.Path(__file__).resolve().parents[2]
    arguments = sys.argv[1:]
    if arguments[-1:] == ["--list"]:
        print("\n".join(find_cases(source)))
        return 0
    if len(arguments) not in (2, 3):
        print(usage.strip(), file=sys.stderr)
        return 2
    for program in requires:
        need(program)
    weft, source = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    cases = find_cases(source)
    if len(arguments) == 3:
        if arguments[2] not in cases:
            print(f"no case {arguments[2]}; --list names them", file=sys.stderr)
            return 2
        cases = {arguments[2]: cases[arguments[2]]}
    # Each case waits for other programs most of its time.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        lines = list(pool.map(lambda item: _run(*item, weft, source), cases.items()))
    failed = sum(not line.startswith("ok ") for line in lines)
    print("\n".join(lines))
    print(f"{len(lines) - failed} passed, {failed} failed")
    return 1 if failed or not lines else 0
