"""Packets of multicast trees for RDMA, put together and taken apart by the texts alone: RoCEv2 over
IPv6, segment routing headers (RFC 8754) and End.MT TLVs (draft 7.2). Nothing is shared with the
code that is tested."""
import hashlib
import hmac
import ipaddress
import struct
import zlib

ROCE_PORT = 4791
UDP, IPV6, ROUTING = 17, 41, 43
ACK_OPCODE, CNP_OPCODE = 0x11, 0x81
WITH_RETH = (0x06, 0x0A, 0x0B)
WITH_IMMEDIATE = (0x03, 0x05, 0x09, 0x0B)
BEGINS = (0x00, 0x04, 0x05, 0x06, 0x0A, 0x0B)
ENDS = (0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B)
CARRIED = tuple(range(0x00, 0x0C))
REFUSED = (0x0C, 0x13, 0x14, 0x16, 0x17)   # READ, ATOMICs, SEND with invalidate: T-29
RETH_BYTES, ATOMIC_BYTES, IMMEDIATE_BYTES = 16, 28, 4


def ip(text):
    return ipaddress.IPv6Address(text).packed


def fresh_icrc(packet):
    """The invariant CRC of an IPv6 packet that ends with one, whatever stands there now."""
    b = bytearray(packet[:-4])
    b[0] |= 0x0F
    for at in (1, 2, 3, 7, 46, 47, 52):
        b[at] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(b)))


def fresh_checksum(packet):
    """What UDP's checksum must be in an IPv6 packet (RFC 8200 8.1), with its CRC as it stands."""
    udp = bytearray(packet[40:])
    udp[6:8] = bytes(2)
    data = packet[8:40] + struct.pack(">II", len(udp), UDP) + bytes(udp) + bytes(len(udp) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data)) % 0xFFFF
    return 0xFFFF - total


def sealed(packet, has_checksum):
    """Makes CRC and checksum right; without one the checksum is 0."""
    b = bytearray(packet)
    b[46:48] = bytes(2)
    b[-4:] = fresh_icrc(b)
    if has_checksum:
        b[46:48] = struct.pack(">H", fresh_checksum(b))
    return bytes(b)


def resealed(old, new):
    """What CRC and checksum become when old is rewritten as new: both stay as wrong as they were."""
    b = bytearray(new)
    b[-4:] = bytes(x ^ y ^ z for x, y, z in zip(old[-4:], fresh_icrc(old), fresh_icrc(new)))
    checksum, = struct.unpack(">H", old[46:48])
    if checksum:
        b[46:48] = bytes(2)
        now = (checksum + fresh_checksum(b) - fresh_checksum(old)) % 0xFFFF
        b[46:48] = struct.pack(">H", now or 0xFFFF)
    else:
        b[46:48] = bytes(2)
    return bytes(b)


def ipv6(payload, src, dst, next_header=UDP, tclass=0, flow=0, hops=64):
    return struct.pack(">IHBB", 6 << 28 | tclass << 20 | flow, len(payload), next_header, hops) + \
        src + dst + payload


def bth(opcode, qpn, psn, flags=0, pkey=0xFFFF, byte4=0, byte8=0):
    """flags: SE, MigReq, pad count and version, as the second byte has them."""
    return struct.pack(">BBHII", opcode, flags, pkey, byte4 << 24 | qpn, byte8 << 24 | psn)


def roce(transport, src, dst, sport=0xC000, has_checksum=False, **options):
    """An IPv6 packet around BTH and all behind it, with a right CRC."""
    body = transport + bytes(4)
    udp = struct.pack(">HHHH", sport, ROCE_PORT, 8 + len(body), 0) + body
    return sealed(ipv6(udp, src, dst, **options), has_checksum)


def ethernet(packet, dst, src):
    return dst + src + b"\x86\xdd" + packet


# ------------------------------------------------------------------ segment routing

def endmt_tlv(kind, edge, receivers, reserved=0):
    """receivers: (address, QPN). reserved: what stands in all fields that are to be ignored."""
    body = struct.pack(">H", reserved) + edge + bytes((len(receivers),)) + \
        (reserved * 0x10001).to_bytes(4, "big")[:3]
    for address, qpn in receivers:
        body += address + struct.pack(">I", qpn << 8 | reserved & 0xFF)
    return bytes((kind, len(body))) + body


def hmac_tlv(key_id, value):
    return struct.pack(">BBHI", 5, 6 + len(value), 0x8000, key_id) + value


def hmac_value(key, src, last_entry, flags, key_id, segments):
    text = src + bytes((last_entry, flags)) + struct.pack(">I", key_id) + segments
    return hmac.new(key, text, hashlib.sha256).digest()


def srh(segments, left, tlvs=b"", hmac_bytes=b"", flags=0, tag=0, last_entry=None):
    """Pads as T-02 has it: one PadN of 4 where 4 bytes are left over."""
    if len(tlvs) % 8:
        assert len(tlvs) % 8 == 4
        tlvs += b"\x04\x02\x00\x00"
    body = b"".join(segments) + tlvs + hmac_bytes
    last = len(segments) - 1 if last_entry is None else last_entry
    return struct.pack(">BBBBBBH", IPV6, len(body) // 8, 4, left, last, flags, tag) + body


# ------------------------------------------------------------------ what differs

NATIVE = [("version, class, flow", 0, 4), ("payload length", 4, 6), ("next header", 6, 7),
          ("hop limit", 7, 8), ("source", 8, 24), ("destination", 24, 40), ("UDP ports", 40, 44),
          ("UDP length", 44, 46), ("UDP checksum", 46, 48), ("BTH opcode", 48, 49),
          ("BTH flags", 49, 50), ("P_Key", 50, 52), ("BTH byte 4", 52, 53), ("DestQPN", 53, 56),
          ("AckReq", 56, 57), ("PSN", 57, 60), ("RETH or AETH", 60, 76)]


def field_at(frame, at):
    """Names the place of a byte in a frame."""
    if at < 14:
        return f"Ethernet byte {at}"
    at, where = at - 14, ""
    packet = frame[14:]
    if packet[6] == ROUTING:
        inner = 40 + 8 + 8 * packet[41]
        if at < inner:
            name = next((n for n, low, high in NATIVE[:6] if low <= at < high), "SRH")
            return f"outer {name} (byte {at})"
        at, where, packet = at - inner, "inner ", packet[inner:]
    if at >= len(packet) - 4:
        return where + "CRC"
    return where + next((n for n, low, high in NATIVE if low <= at < high), f"byte {at}")


def difference(want, got):
    """The first field in which two frames differ."""
    if want is None or got is None:
        return "one is not there"
    for at, (a, b) in enumerate(zip(want, got)):
        if a != b:
            return field_at(want, at)
    return f"length {len(got)}, not {len(want)}"
