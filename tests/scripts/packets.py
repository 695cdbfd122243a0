"""Packets and captures, packed by hand, with checksums and ICRCs computed with zlib: nothing is
shared with the code that reads them."""
import struct
import zlib

ETHERNET, RAW, SLL, IPV4_LINK, IPV6_LINK, SLL2, WIFI = 1, 101, 113, 228, 229, 276, 105


# ------------------------------------------------------------------ packets

def eth(ip, ethertype=None):
    if ethertype is None:
        ethertype = 0x86DD if ip[0] >> 4 == 6 else 0x0800
    return bytes.fromhex("020000000001020000000002") + struct.pack(">H", ethertype) + ip


def inet_sum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4(payload, protocol=17, tos=0, length=None, version=4, ihl=5, src="10.0.0.1",
         dst="10.0.0.2"):
    address = b"".join(bytes(map(int, a.split("."))) for a in (src, dst))
    length = 20 + len(payload) if length is None else length
    head = struct.pack(">BBHHHBBH", version << 4 | ihl, tos, length, 1, 0x4000, 64, protocol, 0)
    check = inet_sum(head + address)
    return head[:10] + struct.pack(">H", check) + address + payload


def ipv6(payload, next_header=17, tclass=0, flow=0, length=None, src="fd00::1", dst="fd00::2"):
    length = len(payload) if length is None else length
    return struct.pack(">IHBB", 6 << 28 | tclass << 20 | flow, length, next_header, 64) + \
        ip6_bytes(src) + ip6_bytes(dst) + payload


def ip6_bytes(text):
    head, _, tail = text.partition("::")
    left = [int(g, 16) for g in head.split(":") if g]
    right = [int(g, 16) for g in tail.split(":") if g]
    return struct.pack(">8H", *left, *[0] * (8 - len(left) - len(right)), *right)


def udp(payload, dport=4791, sport=0xC000, length=None):
    length = 8 + len(payload) if length is None else length
    return struct.pack(">HHHH", sport, dport, length, 0) + payload


def bth(opcode, qp=0x11, psn=100, flags=0, tver=0, pad=0, byte8=0, byte4=0):
    return struct.pack(">BBHII", opcode, flags | pad << 4 | tver, 0xFFFF, byte4 << 24 | qp,
                       byte8 << 24 | psn)


def icrc(ip):
    b = bytearray(ip)
    if b[0] >> 4 == 4:
        n = 20
        b[1] = b[8] = b[10] = b[11] = 0xFF
    else:
        n = 40
        b[0] |= 0x0F
        b[1] = b[2] = b[3] = b[7] = 0xFF
    b[n + 6] = b[n + 7] = b[n + 12] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(b)))


def roce(transport, v6=False, **ip_options):
    """An IP packet around transport bytes, with the right ICRC."""
    wrap = ipv6 if v6 else ipv4
    return (bare := wrap(udp(transport + bytes(4)), **ip_options)[:-4]) + icrc(bare)


def srh(segments, left, next_header=41, tlvs=b""):
    """tlvs: as they stand, a multiple of 8 bytes."""
    return struct.pack(">BBBBBBH", next_header, 2 * len(segments) + len(tlvs) // 8, 4, left,
                       len(segments) - 1, 0, 0) + b"".join(ip6_bytes(s) for s in segments) + tlvs


def endmt(edge, receivers, kind=0x7C):
    """An End.MT TLV; receivers: (address, QPN)."""
    return struct.pack(">BBH", kind, 22 + 20 * len(receivers), 0) + ip6_bytes(edge) + \
        struct.pack(">I", len(receivers) << 24) + \
        b"".join(ip6_bytes(a) + struct.pack(">I", qpn << 8) for a, qpn in receivers)


# ----------------------------------------------------------------- captures

def pcap(packets, link=ETHERNET, order="<", nano=False):
    """packets: bytes, or (bytes, length on the wire). One a second from 1000.000000123 on."""
    out = bytearray(struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0,
                                262144, link))
    for i, p in enumerate(packets):
        data, wire = p if isinstance(p, tuple) else (p, len(p))
        fraction = 123 if nano else 123000
        out += struct.pack(order + "IIII", 1000 + i, fraction, len(data), wire) + data
    return bytes(out)


def block(kind, body, order):
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + size + body + size


def pcapng(packets, link=ETHERNET, order="<", nano=False):
    option = struct.pack(order + "HHB3xHH", 9, 1, 9, 0, 0) if nano else b""
    out = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    out += block(1, struct.pack(order + "HHI", link, 0, 262144) + option, order)
    for i, p in enumerate(packets):
        data, wire = p if isinstance(p, tuple) else (p, len(p))
        time = (1000 + i) * 10**9 + 123 if nano else (1000 + i) * 10**6 + 123000
        out += block(6, struct.pack(order + "IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(data),
                                    wire) + data, order)
    return out
