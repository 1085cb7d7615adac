#!/usr/bin/env python3
"""Reads PostgreSQL's conversions between UTF8 and other encodings, and writes conversions.bin, which src/encodings/tables.rs describes.

    read_conversions.py 'host=127.0.0.1 user=postgres dbname=scratch'

It asks for each code of an encoding which character it is, and for each character of the planes 0 and 2 which code it is.
"""
import os, sys
import psycopg

SINGLE = """LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6 LATIN7 LATIN8 LATIN9 LATIN10 WIN1256 WIN1258 WIN866 WIN874 KOI8R WIN1251 WIN1252
    ISO_8859_5 ISO_8859_6 ISO_8859_7 ISO_8859_8 WIN1250 WIN1253 WIN1254 WIN1255 WIN1257 KOI8U""".split()
EUC, HIGH, LOW = range(0xA1, 0xFF), range(0x80, 0x100), range(0x01, 0x100)


def pairs(first, second, before=b""):
    return [before + bytes([a, b]) for a in first for b in second]


MULTIPLE = {
    "EUC_JP": [bytes([0x8E, b]) for b in range(0xA1, 0xE0)] + pairs(EUC, EUC) + pairs(EUC, EUC, b"\x8f"),
    "EUC_CN": pairs(EUC, EUC),
    "EUC_KR": pairs(EUC, EUC),
    "EUC_TW": pairs(EUC, EUC) + [code for plane in range(0xA1, 0xB1) for code in pairs(EUC, EUC, bytes([0x8E, plane]))],
    "SJIS": [bytes([b]) for b in range(0xA1, 0xE0)] + pairs(HIGH, LOW),
    "BIG5": pairs(HIGH, LOW),
    "GBK": pairs(HIGH, LOW),
    "UHC": pairs(HIGH, LOW),
    "GB18030": pairs(HIGH, range(0x40, 0xFF))
    + [code + tail for code in pairs(range(0x81, 0x85), range(0x30, 0x3A)) for tail in pairs(range(0x81, 0xFF), range(0x30, 0x3A))],
}
CHARACTERS = [chr(c) for c in [*range(0x80, 0xD800), *range(0xE000, 0x10000), *range(0x20000, 0x2FA20)]]
FUNCTIONS = """
    create or replace function pg_temp.characters(codes bytea[], encoding text) returns setof text language plpgsql as $$
    declare code bytea; begin foreach code in array codes loop
        begin return next convert_from(code, encoding); exception when others then return next null; end;
    end loop; end $$;
    create or replace function pg_temp.codes(characters text[], encoding text) returns setof bytea language plpgsql as $$
    declare c text; begin foreach c in array characters loop
        begin return next convert_to(c, encoding); exception when others then return next null; end;
    end loop; end $$"""


def number(code):
    """The number that a code has in the table. Four bytes of GB18030 are counted, so that neighbours follow each other."""
    if len(code) == 4 and code[1] < 0x40:
        return 0x10000 + (code[0] - 0x81) * 12600 + (code[1] - 0x30) * 1260 + (code[2] - 0x81) * 10 + (code[3] - 0x30)
    return int.from_bytes(code, "big")


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def signed(value):
    return varint(value * 2 if value >= 0 else -value * 2 - 1)


def runs(table):
    """Pairs by their first number, in runs in which both numbers grow by one."""
    out, count, last, at = b"", 0, (0, 0), 0
    table = sorted(table)
    while at < len(table):
        end = at + 1
        while end < len(table) and table[end] == (table[end - 1][0] + 1, table[end - 1][1] + 1):
            end += 1
        out += varint(table[at][0] - last[0]) + signed(table[at][1] - last[1]) + varint(end - at)
        last, count, at = table[end - 1], count + 1, end
    return varint(count) + out


def main():
    connection = psycopg.connect(sys.argv[1], autocommit=True)
    connection.execute(FUNCTIONS)

    def ask(function, values, encoding):
        return [row[0] for row in connection.execute(f"select pg_temp.{function}(%s, %s)", (values, encoding))]

    out = b""
    for name in SINGLE + list(MULTIPLE):
        codes = MULTIPLE.get(name) or [bytes([byte]) for byte in HIGH]
        found = zip(codes, ask("characters", codes, name))
        forward = sorted((number(code), ord(character)) for code, character in found if character and len(character) == 1)
        found = zip(CHARACTERS, ask("codes", CHARACTERS, name))
        backward = {ord(character): number(code) for character, code in found if code}
        first = {}
        for code, character in forward:
            first.setdefault(character, code)
        others = [(character, code) for character, code in backward.items() if first.get(character) != code]
        assert all(character in backward for character in first), name
        tables = runs(forward) + runs(others)
        [(encoding,)] = connection.execute("select pg_char_to_encoding(%s)", (name,)).fetchall()
        out += bytes([encoding]) + len(tables).to_bytes(4, "little") + tables
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "conversions.bin"), "wb") as file:
        file.write(out)


main()
