#!/usr/bin/env python3
"""Reads one part, written from docs/file-format.md alone; prints it as JSON.

    reader.py FILE [OLDER...]              header and sections, all checksums verified
    reader.py --flip-bits FILE [OLDER...]  tries every 7th single-bit flip of FILE: each must be found

OLDER are the files of older versions that FILE refers to.
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


def tagged_fields(body, at):
    fields, last, total = [], -1, 0
    count, = struct.unpack_from("<H", body, at)
    at += 2
    for _ in range(count):
        number, n = struct.unpack_from("<HI", body, at)
        at += 6
        total += n
        check(at + n <= len(body) and number > last and total <= 2**20 and count <= 256, "tagged field")
        fields.append({"id": number, "hex": body[at:at + n].hex()})
        last, at = number, at + n
    return fields


def header(data):
    check(len(data) >= 28 and data[:12] == MAGIC, "magic")
    check(crc(data[:24]) == struct.unpack_from("<I", data, 24)[0], "preamble")
    major, minor, flags, length = struct.unpack_from("<HHII", data, 12)
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
    at += fingerprint_len
    h["level"], flags, h["oldest"] = struct.unpack_from("<BBQ", body, at) if minor >= 1 else (0, 0, 0)
    h["flush"] = flags & 1 != 0
    check(h["oldest"] < h["version"], "oldest version")
    h["fields"] = tagged_fields(body, at + 10) if minor >= 2 else []
    return h, header_crc, 28 + length + 4


def trailer(data, header_crc, header_end):
    """Offset, length and checksum of the footer."""
    check(len(data) >= header_end + 48, "no trailer")
    t = data[-48:]
    check(t[40:] == END, "end mark")
    offset, length, size, footer_crc, bound, flags, trailer_crc = struct.unpack("<QQQIIII", t[:40])
    check(crc(t[:36]) == trailer_crc, "trailer")
    check(flags == 0, "not supported")
    check(size == len(data) and bound == header_crc, "size or header")
    check(header_end <= offset and offset + length == size - 48, "place of the footer")
    check(crc(data[offset:offset + length]) == footer_crc, "footer")
    return offset, length, footer_crc


def skip_sections(data, offset):
    """The offset of what follows the section records."""
    at = offset + 8
    for _ in range(struct.unpack_from("<I", data, offset + 4)[0]):
        at += struct.unpack_from("<I", data, at)[0]
    return at


def versions(data, h, at, end, open_version):
    """The files of the table of versions at that offset: their bytes, where their chunks are."""
    count, = struct.unpack_from("<I", data, at)
    at += 4
    check(at + 16 * count <= end, "table of versions")
    files, last = [], h["oldest"] - 1
    for _ in range(count):
        version, header_crc, footer_crc = struct.unpack_from("<QII", data, at)
        at += 16
        check(last < version < h["version"], "table of versions")
        last = version
        older = open_version(version)
        b, crc_there, begin = header(older)
        footer_offset, _, footer_crc_there = trailer(older, crc_there, begin)
        check((crc_there, footer_crc_there) == (header_crc, footer_crc), "another file of version %d" % version)
        check(all(b[k] == h[k] for k in ("name", "attempt", "rank", "size")) and b["version"] == version, "identity")
        files.append((older, begin, footer_offset))
    return files


def section(data, at, previous_end, footer_offset, files):
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
    raw, missing, refers, crcs = b"", 0, 0, b""
    for c in range(chunks):
        offset, stored, kind, stored_crc, raw_crc = struct.unpack_from("<QIIII", data, at)
        at += 24
        raw_len = min(chunk_size, size - c * chunk_size)
        crcs += struct.pack("<I", raw_crc)
        if kind == 2:
            missing += 1
            continue
        if kind & 0xFF == 3:
            check(kind >> 16 < len(files), "reference")
            older, begin, end_there = files[kind >> 16]
            kind = kind >> 8 & 0xFF
            check(begin <= offset and offset + stored <= end_there, "place of a chunk in another file")
            piece = older[offset:offset + stored]
            refers += stored
        else:
            check(previous_end <= offset < previous_end + 4096 and offset + stored <= footer_offset, "place of a chunk")
            check(not any(data[previous_end:offset]), "padding")
            previous_end = offset + stored
            piece = data[offset:offset + stored]
        check(kind in (0, 1), "not supported")
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
         "hi": list(numbers[dims + 2 * global_dims:]), "missing": missing, "refers": refers, "hex": raw.hex()}
    return s, end, previous_end


def part(data, open_version):
    """Header and sections; open_version(version) gives the file of an older version."""
    h, header_crc, header_end = header(data)
    offset, length, _ = trailer(data, header_crc, header_end)
    flags, count = struct.unpack_from("<II", data, offset)
    check(flags == 0, "not supported")
    files = versions(data, h, skip_sections(data, offset), offset + length, open_version) if h["oldest"] else []
    at, end, h["sections"] = offset + 8, header_end, []
    for _ in range(count):
        s, at, end = section(data, at, end, offset, files)
        h["sections"].append(s)
    check(at <= offset + length and end == offset, "ends")
    return h


def flip_bits(data, open_version):
    part(data, open_version)
    for bit in range(0, 8 * len(data), 7):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        try:
            part(bytes(bad), open_version)
        except (Damaged, struct.error, UnicodeDecodeError, IndexError, KeyError, OverflowError, MemoryError):
            continue
        sys.exit("bit %d was flipped and not found" % bit)


def read(path):
    with open(path, "rb") as f:
        return f.read()


if __name__ == "__main__":
    args = sys.argv[1:]
    flip = args[0] == "--flip-bits"
    content, *others = map(read, args[1:] if flip else args)
    older = {header(o)[0]["version"]: o for o in others}
    if flip:
        flip_bits(content, older.__getitem__)
    else:
        json.dump(part(content, older.__getitem__), sys.stdout)
