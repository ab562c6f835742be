"""Appending survivors in PTX: what a thread does with the cosines that it holds, eight at a time.

The same in Triton's words is `_append` in `triton_kernel`: there, all threads of a tile take part in every append.
"""

from __future__ import annotations

SURVIVORS_AT_ONCE = 8
"""Cosines that one test and one branch are for; with 4 the pass was as quick or slower, with 1 a seventh slower."""

# Operands, each one register for each of the cosines: where nothing is returned; the cosine; the floors of its row
# and of its column; its row, shifted to its place, and its column; the address of the count, that of the room for
# survivors, and how many it holds. Floats, integers and addresses, as `constraints` says.
_RESULT, _COSINE, _ROW_FLOOR, _COLUMN_FLOOR, _ROW, _COLUMN, _COUNT, _PACKED, _ROOM = range(9)
_KINDS = ("=r", "f", "f", "f", "r", "r", "l", "l", "r")


def constraints(at_once: int = SURVIVORS_AT_ONCE) -> str:
    """The kinds of the operands, as LLVM wants them."""
    return ",".join(kind for kind in _KINDS for _ in range(at_once))


def append_survivors(at_once: int = SURVIVORS_AT_ONCE) -> str:
    """Appends each cosine that beats the lower of its two floors, with its place, to the room; counts all of them."""

    def operand(which: int, place: int) -> str:
        return f"${which * at_once + place}"

    every = range(at_once)
    floors = ", ".join(f"floor{i}" for i in every)
    lines = [f".reg .pred some, fits; .reg .f32 {floors}; .reg .b32 slot, place, bits; .reg .b64 address, value;"]
    for i in every:
        cosine = operand(_COSINE, i)
        lines.append(f"min.f32 floor{i}, {operand(_ROW_FLOOR, i)}, {operand(_COLUMN_FLOOR, i)};")
        if i == 0:
            lines.append(f"setp.gt.f32 some, {cosine}, floor0;")
        else:
            lines.append(f"setp.gt.or.f32 some, {cosine}, floor{i}, some;")
    lines.append("@!some bra DONE;")
    for i in every:
        cosine = operand(_COSINE, i)
        lines += [
            f"setp.gt.f32 some, {cosine}, floor{i};",
            f"@!some bra NEXT{i};",
            f"or.b32 place, {operand(_ROW, i)}, {operand(_COLUMN, i)};",
            f"atom.global.add.u32 slot, [{operand(_COUNT, 0)}], 1;",
            f"setp.lt.u32 fits, slot, {operand(_ROOM, 0)};",
            "mul.wide.u32 address, slot, 8;",
            f"add.u64 address, address, {operand(_PACKED, 0)};",
            f"mov.b32 bits, {cosine};",
            "mov.b64 value, {place, bits};",
            "@fits st.global.b64 [address], value;",
            f"NEXT{i}:",
        ]
    lines.append("DONE:")
    lines += [f"mov.b32 {operand(_RESULT, i)}, 0;" for i in every]
    return "\n".join(["{", *lines, "}"])
