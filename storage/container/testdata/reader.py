#!/usr/bin/env python3
"""Reads one part, written from docs/file-format.md alone; prints it as JSON.

    reader.py FILE              header and sections, all checksums verified
    reader.py --flip-bits FILE  tries every 7th single-bit flip: each must be found
"""
import json
import struct
import sys

MAGIC = b"\x8bCRAFT\r\n\x1a\n\x00\x00"
END = b"\x8bTFARC\r\n"
ELEMS = ["opaque", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float32", "float64", "complex64", "complex128", "string"]
SIZES = [0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16, 1]

TABLE = []
for n in range(256):
    for _ in range(8):
        n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def crc(data):
    c = 0xFFFFFFFF
    for b in data:
        c = TABLE[(c ^ b) & 0xFF] ^ (c >> 8)
    return c ^ 0xFFFFFFFF


class Damaged(Exception):
    pass


def check(ok, what):
    if not ok:
        raise Damaged(what)


def fnv(data):
    h = 14695981039346656037
    for b in data:
        h = ((h ^ b) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return h


def lz4_block(src, raw_size):
    """The LZ4 block format: tokens, literals, matches."""
    out, i = bytearray(), 0
    while i < len(src):
        token = src[i]
        i += 1
        length = token >> 4
        while length >= 15:
            length += src[i]
            i += 1
            if src[i - 1] != 255:
                break
        out += src[i:i + length]
        i += length
        if i >= len(src):
            break
        back = src[i] | src[i + 1] << 8
        i += 2
        check(0 < back <= len(out), "match before the beginning")
        length = token & 15
        if length == 15:
            while True:
                length += src[i]
                i += 1
                if src[i - 1] != 255:
                    break
        for _ in range(length + 4):
            out.append(out[-back])
    check(len(out) == raw_size, "raw length of an LZ4 block")
    return bytes(out)


def header(data):
    check(len(data) >= 28 and data[:12] == MAGIC, "magic")
    check(crc(data[:24]) == struct.unpack_from("<I", data, 24)[0], "preamble")
    major, _minor, flags, length = struct.unpack_from("<HHII", data, 12)
    check(major == 1 and flags == 0, "not supported")
    check(28 + length + 4 <= len(data), "length of the header")
    body = data[28:28 + length]
    header_crc, = struct.unpack_from("<I", data, 28 + length)
    check(crc(body) == header_crc, "header")
    version, iteration, seconds, nanos, rank, size, name_len, ancestors, fingerprint_len = struct.unpack_from("<QqqIIIHHI", body, 24)
    at = 68
    h = {"lineage": body[:16].hex(), "attempt": body[16:24].hex(), "version": version,
         "iteration": None if iteration == -2**63 else iteration, "seconds": seconds, "nanoseconds": nanos,
         "rank": rank, "size": size, "name": body[at:at + name_len].decode(), "ancestors": []}
    at += name_len
    for _ in range(ancestors):
        attempt, version, calls, n = struct.unpack_from("<8sQQH", body, at)
        at += 26
        h["ancestors"].append({"attempt": attempt.hex(), "version": version, "calls": calls, "name": body[at:at + n].decode()})
        at += n
    h["fingerprint"] = body[at:at + fingerprint_len].decode()
    return h, header_crc, 28 + length + 4


def section(data, at, previous_end, footer_offset):
    (length, flags, size, digest, chunk_size, chunks, elem, dist, dims, global_dims,
     key_len, type_len, record_len) = struct.unpack_from("<IIQQIIBBBBHHI", data, at)
    check(flags == 0 and record_len == 24 and elem < len(ELEMS), "not supported")
    end, at = at + length, at + 44
    key = data[at:at + key_len].decode()
    at += key_len
    type_name = data[at:at + type_len].decode()
    at += type_len
    numbers = struct.unpack_from("<%dq" % (dims + 3 * global_dims), data, at)
    at += 8 * len(numbers)
    check(chunks == -(-size // chunk_size), "number of chunks")
    raw, missing, crcs = b"", 0, b""
    for c in range(chunks):
        offset, stored, kind, stored_crc, raw_crc = struct.unpack_from("<QIIII", data, at)
        at += 24
        raw_len = min(chunk_size, size - c * chunk_size)
        crcs += struct.pack("<I", raw_crc)
        if kind == 2:
            missing += 1
            continue
        check(kind in (0, 1), "not supported")
        check(previous_end <= offset < previous_end + 4096 and offset + stored <= footer_offset, "place of a chunk")
        check(not any(data[previous_end:offset]), "padding")
        previous_end = offset + stored
        piece = data[offset:offset + stored]
        check(crc(piece) == stored_crc, "chunk %d of %s" % (c, key))
        if kind == 1:
            piece = lz4_block(piece, raw_len)
        check(len(piece) == raw_len and crc(piece) == raw_crc, "raw bytes of chunk %d of %s" % (c, key))
        raw += piece
    check(at <= end, "length of a section record")
    check(fnv(struct.pack("<QI", size, chunk_size) + crcs) == digest, "digest of " + key)
    shape = list(numbers[:dims])
    if elem:
        product = SIZES[elem]
        for n in shape:
            product *= n
        check(product == size, "shape of " + key)
    s = {"key": key, "type": type_name, "elem": ELEMS[elem], "dist": dist, "size": size, "digest": digest, "shape": shape,
         "global": list(numbers[dims:dims + global_dims]), "lo": list(numbers[dims + global_dims:dims + 2 * global_dims]),
         "hi": list(numbers[dims + 2 * global_dims:]), "missing": missing, "hex": raw.hex()}
    return s, end, previous_end


def part(data):
    h, header_crc, header_end = header(data)
    check(len(data) >= header_end + 48, "no trailer")
    trailer = data[-48:]
    check(trailer[40:] == END, "end mark")
    offset, length, size, footer_crc, bound, flags, trailer_crc = struct.unpack("<QQQIIII", trailer[:40])
    check(crc(trailer[:36]) == trailer_crc, "trailer")
    check(flags == 0, "not supported")
    check(size == len(data) and bound == header_crc, "size or header")
    check(header_end <= offset and offset + length == size - 48, "place of the footer")
    check(crc(data[offset:offset + length]) == footer_crc, "footer")
    flags, count = struct.unpack_from("<II", data, offset)
    check(flags == 0, "not supported")
    at, end, h["sections"] = offset + 8, header_end, []
    for _ in range(count):
        s, at, end = section(data, at, end, offset)
        h["sections"].append(s)
    check(at <= offset + length and end == offset, "ends")
    return h


def flip_bits(data):
    part(data)
    for bit in range(0, 8 * len(data), 7):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        try:
            part(bytes(bad))
        except (Damaged, struct.error, UnicodeDecodeError, IndexError, OverflowError, MemoryError):
            continue
        sys.exit("bit %d was flipped and not found" % bit)


if __name__ == "__main__":
    with open(sys.argv[-1], "rb") as f:
        content = f.read()
    if sys.argv[1] == "--flip-bits":
        flip_bits(content)
    else:
        json.dump(part(content), sys.stdout)
