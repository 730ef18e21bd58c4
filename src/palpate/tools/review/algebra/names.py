"""How people write symbols, and which symbol is meant: q1, q_1, \\dot{q}_1, q̇₁, dq1, qdot_1, c_{12}, θ for q."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

from palpate.equations.spelling import DOTS, GREEK_LETTERS, VARIANTS, Name
from palpate.errors import UnreadableExpression, nearest
from palpate.tools.review.algebra.points import PI
from palpate.tools.review.algebra.tree import Grid, Neg, Node, Num, Ref, Sym, Trig, Value, add, multiply, number

Made = TypeVar("Made")
_SAME = {**{a: b for a, b in VARIANTS.items()}, **{b: a for a, b in VARIANTS.items()}}
_JOINT_LETTERS = ("q", "theta", "vartheta", "phi", "varphi")
_MOVING_LETTERS = (*_JOINT_LETTERS, "x", "y", "z")
_DOTS = {mark: count for count, mark in enumerate(DOTS) if mark}
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_DOTS_AT_THE_END = re.compile(r"(\d+)(d{1,2}(?:ot)?)")
_SHORT_THETA = re.compile(r"(?P<before>d{0,2})th(?P<after>d|dd|dot|ddot|p|pp)?")
_DOT_WORDS = {"dot": 1, "d": 1, "ddot": 2, "dd": 2, "t": 1, "tt": 2}


@lru_cache(maxsize=4096)
def spelled(text: str) -> Name:
    """The name a symbol of a program or a LaTeX string has: 'q1', 'q_1', r'\\dot{q}_1', 'q1_dot', 'x_AB'."""
    dots = sum(len(match) for match in re.findall(r"\\(d{1,3})ot\b", text))
    text = re.sub(r"\\(d{1,3}ot|math\w+|boldsymbol|operatorname|text)\b|[\\{}$\s]", "", text)
    bare = ""
    for letter in unicodedata.normalize("NFD", text):
        dots += _DOTS.get(letter, 0)
        bare += "" if letter in _DOTS else GREEK_LETTERS.get(letter, letter)
    bare = bare.translate(_SUBSCRIPTS)
    primes = bare.count("'")
    bare = bare.replace("'", "")
    word = re.match(r"[^\W\d_]+", bare)
    base = word[0] if word else bare
    parts = [part for part in re.split(r"[_,]", bare[len(base) :]) if part]
    for part in [part for part in parts if part in ("dot", "ddot")]:
        dots += _DOT_WORDS[part]
        parts.remove(part)
    if len(parts) == 1 and base in _JOINT_LETTERS and (match := _DOTS_AT_THE_END.fullmatch(parts[0])):  # q1dot
        dots, parts = dots + _DOT_WORDS[match[2]], [match[1]]
    return Name(base + "'" * primes, ",".join(parts), dots)


class SymbolTable:
    """The symbols a formula may use.

    Attributes:
        known: every symbol, with its spelling in plain text.
        coordinates: the generalised coordinates, in order; their dotted forms are known too.
        definitions: names that stand for an expression or a matrix; `written` has them as they are written.
        aliases: symbols that the writer calls otherwise, with the writer's name.
        unreadable: names whose definition cannot be read, with that error.
        symbols: the SymPy symbols that names came from.
        forces: symbols that are forces of the joints alone, such as τ1.
        notes: what was read as something else, in words.
        open: whether unknown names are taken in; c_{12} without coordinates then makes q1 and q2 coordinates.
    """

    def __init__(self, spellings: Iterable[str] = (), coordinates: Sequence[str] = ()) -> None:
        self.known: dict[Name, str] = {}
        self.originals: dict[str, Name] = {}
        self.coordinates: list[Name] = []
        self.definitions: dict[Name, Value] = {}
        self.written: dict[Name, str] = {}
        self.symbols: dict[Name, Any] = {}
        self.notes: list[str] = []
        self.aliases: dict[Name, Name] = {}
        self.unreadable: dict[Name, UnreadableExpression] = {}
        self.forces: set[Name] = set()
        self.open = False
        self._made: dict[object, Any] = {}
        self.learn(coordinates)
        self.coordinates = [self.originals[text] for text in coordinates]
        self.learn(spellings)

    def copy(self) -> SymbolTable:
        """A table of its own with the same symbols."""
        made = SymbolTable()
        for name, value in vars(self).items():
            setattr(made, name, value.copy() if hasattr(value, "copy") else value)
        return made

    def learn(self, spellings: Iterable[str]) -> None:
        """Take in symbols by their spelling; dq1 and q1_dot are q̇1 where q1 is known."""
        texts = [text for text in spellings if text not in self.originals]
        plain = {text: spelled(text) for text in texts}
        moving = self.coordinates or [*plain.values(), *self.known]
        bases = {name[:2] for name in moving}
        for text, name in plain.items():
            settled = self.originals[text] = _undotted(name, bases)
            self.known.setdefault(settled, text)

    def infer_coordinates(self, angles: Iterable[Name], count: int) -> None:
        """Coordinates that were not given: whatever has a dotted form, and whatever stands in a sine.

        M(q2) of two joints has q1 too: numbered ones are filled up to `count`.
        """
        if self.coordinates:
            return
        moving = {name._replace(dots=0) for name in self.known if name.dots}
        moving |= {name for name in angles if name != PI and name.dots == 0}
        bases = {name.base for name in moving}
        numbers = [int(name.sub) for name in moving if name.sub.isdigit()]
        if len(bases) == 1 and numbers and len(numbers) == len(moving):
            moving |= {Name(next(iter(bases)), str(number)) for number in range(1, max(count, *numbers) + 1)}
        self.coordinates = sorted(moving, key=_in_order)

    def named(self, text: str) -> Name:
        """The name a word of plain text has: dq1 is q̇1 where q1 is a coordinate."""
        if text in self.originals:
            return self.originals[text]
        return _undotted(spelled(text), {name[:2] for name in self.coordinates})

    def define(self, text: str, value: Value) -> None:
        """Let a name stand for an expression or a matrix."""
        self.definitions[spelled(text)] = value
        self.written[spelled(text)] = text

    def add_alias(self, text: str, symbol: Name) -> None:
        """Let a name of the writer's mean a known symbol; it is printed as the writer's."""
        self.aliases[symbol] = spelled(text)

    # ------------------------------------------------------------------ looking up

    def find(self, name: Name) -> Value | None:
        """The meaning of a name, or None. Its span is left open."""
        for symbol, alias in self.aliases.items():
            if alias[:2] == name[:2] and alias.dots <= name.dots:
                return Sym(symbol._replace(dots=symbol.dots + name.dots - alias.dots))
        if name in self.unreadable:
            raise self._unreadable(name)
        if name in self.definitions:
            value = self.definitions[name]
            return value if isinstance(value, Grid) else Ref(name, value)
        if name == PI or self._is_known(name):
            return Sym(name)
        meaning = self._other_spelling(name) or self._vector(name) or self._shorthand(name) or self._sum_of_angles(name)
        if meaning is None and "." in name.sub:  # I_{11.1} for I_{11,1}
            meaning = self.find(name._replace(sub=name.sub.replace(".", ",")))
        return self._added(name) if meaning is None and self.open else meaning

    def _unreadable(self, name: Name) -> UnreadableExpression:
        return self.unreadable[name]

    def _added(self, name: Name) -> Value | None:
        if name.base in ("c", "s") and name.sub.isdigit() and not name.dots:
            missing = [Name("q", digit) for digit in name.sub if Name("q", digit) not in self.coordinates]
            self.coordinates = sorted([*self.coordinates, *missing])
            self._made.clear()  # angles among them
            return self._shorthand(name)
        if len(name.base) > 1 and name.base not in GREEK_LETTERS.values():
            return None
        self.known.setdefault(name, str(name))
        return Sym(name)

    def _is_known(self, name: Name) -> bool:
        still = name._replace(dots=0)
        return name in self.known or still in self.coordinates or any(Name(*name[:2], d) in self.known for d in (1, 2))

    def _other_spelling(self, name: Name) -> Node | None:
        """The same letter in another form, a prime for a dot, or θ where the joints are called q."""
        for other in self._similar(name):
            if self._is_known(other):
                note = f"{name} read as {other}"
                self.notes += [note] if note not in self.notes else []
                return Sym(other)
        return None

    def _similar(self, name: Name) -> Iterable[Name]:
        if name.base in _SAME:
            variant = name._replace(base=_SAME[name.base])
            yield variant
            yield from self._same_letters(variant)
        if (short := _SHORT_THETA.fullmatch(name.base)) and (
            name.sub or len(self.coordinates) == 1
        ):  # th1, dth1, thdot1
            dots = len(short["before"] or "") + _DOT_WORDS.get(short["after"] or "", 0)
            yield from self._as_joint(Name("theta", name.sub, name.dots + dots))
        if name.base.endswith("'"):
            bare = name.base.rstrip("'")
            yield Name(bare, name.sub, name.dots + len(name.base) - len(bare))
        if "," in name.sub:
            yield name._replace(sub=name.sub.replace(",", ""))
        yield _undotted(name, {one[:2] for one in self.coordinates})
        bare = _undotted(name, {(letter, "") for letter in _JOINT_LETTERS})
        if not name.sub and len(self.coordinates) == 1 and bare.base in _JOINT_LETTERS:
            yield self.coordinates[0]._replace(dots=bare.dots)
        yield from self._same_letters(name)
        yield from self._as_joint(name)

    def _as_joint(self, name: Name) -> Iterable[Name]:
        """θ1 where the joints are called q."""
        if name.base in _JOINT_LETTERS:
            same = [one for one in self.coordinates if one.base in _JOINT_LETTERS and one.sub == name.sub]
            lone = self.coordinates if not name.sub and len(self.coordinates) == 1 else []
            yield from (one._replace(dots=name.dots) for one in (same or lone)[:1])

    def _same_letters(self, name: Name) -> Iterable[Name]:
        """lc1 for l_{c1}, I1zz for I_{zz,1}, l1 for L_1, and m1 for m where one link has a mass."""
        letters, digits = _letters_and_digits(name)
        known = {one: _letters_and_digits(one) for one in self.known if one.dots == name.dots == 0}
        yield from (one for one, key in known.items() if key == (letters, digits))
        capital = name.base.isupper() and len(name.base) == 1
        if capital and (name.sub or len(self.numbered(name._replace(base=name.base.lower()))) == 1):
            yield from (one for one, key in known.items() if key == (letters.lower(), digits))
        if not name.sub and len(single := self.numbered(name)) == 1 and len(self.coordinates) == 1:
            yield from single

    def numbered(self, name: Name) -> list[Name]:
        """The known l1, l2, … of a letter without a number (l, or L where nothing else has that letter)."""
        if name.sub or name.dots:
            return []
        for base in (name.base, name.base.lower()):
            matches = sorted(one for one in self.known if one.base == base and one.sub.isdigit() and not one.dots)
            if matches and base not in _JOINT_LETTERS:
                return matches
        return []

    def entry(self, text: str, number: int, ellipsis: bool) -> Name | None:
        """The symbol that an entry of a vector is: q[0], dq[0], l[1]; v and a are rates where no parameter is."""
        base = self.named(text)
        if base.sub or base in self.definitions:
            return None
        rates = {"v": 1, "qd": 1, "qp": 1, "a": 2, "qdd": 2, "qpp": 2}
        dots = rates.get(base.base, 0) or base.dots + sum(text.startswith(d) for d in ("dq", "ddq"))
        plain = Name(base.base, str(number), base.dots)
        if not ellipsis and self._is_known(plain):
            return plain
        order = {str(i): one for i, one in enumerate(self.coordinates, 1)}
        letter = base.base.strip("d")
        moving = base.base in rates or letter in _JOINT_LETTERS or letter.lower() in _JOINT_LETTERS
        if moving and str(number) in order:
            return order[str(number)]._replace(dots=dots)
        return plain if self._is_known(plain) else None

    def matrix_entry(self, name: Name, row: int, column: int) -> Value | Name | None:
        """An entry, counted from 1, of a matrix that is defined; or the name of that entry, if that is."""
        whole = self.definitions.get(name)
        if isinstance(whole, Grid) and 1 <= row <= whole.shape[0] and 1 <= column <= whole.shape[1]:
            return replace(whole[row - 1, column - 1])
        named = (name._replace(sub=sub) for sub in (f"{row},{column}", f"{row}{column}"))
        known = {*self.definitions, *self.unreadable, *self.aliases.values()}
        return next((one for one in named if one in known), None)

    def _vector(self, name: Name) -> Grid | None:
        """q, q̇, q̈ without a subscript: the column of all of them."""
        same = [one for one in self.coordinates if one.base == name.base and one.sub]
        if name.sub or not same or len(same) != len(self.coordinates):
            return None
        return Grid(tuple((Sym(one._replace(dots=name.dots)),) for one in same))

    def _sum_of_angles(self, name: Name) -> Node | None:
        """q_{12} is q1 + q2, and q̇_{12} is q̇1 + q̇2."""
        if not name.sub.isdigit() or len(name.sub) < 2 or (name.dots == 0 and name.base not in _JOINT_LETTERS):
            return None
        parts = [self.find(Name(name.base, digit, name.dots)) for digit in name.sub]
        return add([part for part in parts if isinstance(part, Sym)]) if all(parts) else None

    def _shorthand(self, name: Name) -> Trig | None:
        """c_{12}, s1, C_{2*2+3}, s_θ: a cosine or sine of a sum of coordinates."""
        if name.dots or name.base not in ("c", "s", "C", "S"):
            return None
        angle = self.remembered(("angle", name.sub), lambda: self._angle(name.sub))
        return None if angle is None else Trig({"c": "cos", "s": "sin"}[name.base.lower()], angle, short=True)

    def _angle(self, sub: str) -> Node | None:
        """The angle a subscript means."""
        if not sub:
            return Sym(self.coordinates[0]) if len(self.coordinates) == 1 else None
        by_index = {name.sub: name for name in self.coordinates if name.sub}
        if sub in by_index and len(sub) > 1:
            return Sym(by_index[sub])
        if sub.isdigit():
            return self._indices([(1, digit) for digit in sub], by_index)
        sub = re.sub(r"(?<=\d),(?=\d+\*)", ".", sub)  # a decimal comma: c_{2,0*2}
        if re.fullmatch(r"[\d.*+,\- ]+", sub):
            # '2.0*2+3' is 2·q2 + q3; '1-2' is q1 − q2; '1,2' is q1 + q2
            parts = re.findall(r"([+-]?)(?:(\d+(?:\.\d*)?)\*)?(\d+)", sub.replace(" ", "").replace(",", "+"))
            return self._indices([(Fraction(f"{sign}{times or 1}"), index) for sign, times, index in parts], by_index)
        signed = re.findall(r"([+-]?)([^+-]+)", sub.replace(",", ""))
        signed_angles = [(sign, self.find(spelled(part))) for sign, part in signed]
        if not signed_angles or not all(isinstance(angle, Sym | Ref) for _, angle in signed_angles):
            return None
        return add(
            [Neg(angle) if sign == "-" else angle for sign, angle in signed_angles if isinstance(angle, Sym | Ref)]
        )

    def _indices(self, parts: list[tuple[Fraction | int, str]], by_index: Mapping[str, Name]) -> Node | None:
        if not parts or any(index not in by_index for _, index in parts):
            return None
        return add([_scaled(Fraction(times), Sym(by_index[index])) for times, index in parts])

    def remembered(self, key: object, make: Callable[[], Made]) -> Made:
        """The value kept under a key, made once, so that a node that stands in many places is computed once."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    # ------------------------------------------------------------------ words

    def split(self, name: Name) -> list[Name] | None:
        """The fewest known symbols that a run of letters can be: mgl is m·g·l, pl_{31} may be one symbol."""
        if self.find(name) is not None:
            return [name]
        for length in range(len(name.base) - 1, 0, -1):
            head = Name(name.base[:length])
            if self.find(head) is not None and (tail := self.split(name._replace(base=name.base[length:]))):
                return [head, *tail]
        return None

    def suggestions(self, name: Name) -> list[str]:
        """The valid names nearest to an unknown one."""
        valid = [*self.known.values(), *(str(one) for one in self.definitions), *map(str, self.coordinates)]
        return nearest(str(name), dict.fromkeys(valid)) or nearest(name.base, dict.fromkeys(valid))

    def plain(self, name: Name) -> str:
        """A symbol's spelling in plain text."""
        return str(self.writer_name(name)) if self.writer_name(name) != name else self.known.get(name, str(name))

    def writer_name(self, name: Name) -> Name:
        """The writer's name for a symbol."""
        still = next((one for one in self.aliases if one[:2] == name[:2] and one.dots <= name.dots), None)
        if still is None:
            return name
        alias = self.aliases[still]
        return alias._replace(dots=alias.dots + name.dots - still.dots)


def _letters_and_digits(name: Name) -> tuple[str, str]:
    """A key under which l_{c1} and lc1, I_{zz,1} and I1zz are the same."""
    text = name.base + name.sub
    return "".join(filter(str.isalpha, text)), "".join(filter(str.isdigit, text))


def _undotted(name: Name, bases: set[tuple[str, str]]) -> Name:
    """dq1, ddq1, qd1, qdot1 as q̇1 or q̈1, if q1 is among the known names (dq1 beside q1)."""
    base = name.base
    for letters, dots in (("ddot", 2), ("dot", 1), ("dd", 2), ("d", 1)):
        front, back = base.removeprefix(letters), base.removesuffix(letters)
        if len(letters) < 3 and back not in _MOVING_LETTERS:  # kd beside k is a gain, not a rate
            back = base
        for stem in (front, back):
            joint = stem in _JOINT_LETTERS and name.sub.isdigit()  # dq1 is a rate also where q1 itself does not occur
            if stem and stem != base and (joint or (stem, name.sub) in bases):
                return Name(stem, name.sub, name.dots + dots)
    return name


def _in_order(name: Name) -> tuple[str, int, str]:
    return (name.base, int(name.sub), "") if name.sub.isdigit() else (name.base, 10**6, name.sub)


def _scaled(times: Fraction, node: Node) -> Node:
    if times < 0:
        return Neg(_scaled(-times, node))
    return node if times == 1 else multiply([number(times), node])


def with_span(value: Value, span: tuple[int, int]) -> Value:
    """The meaning of a name, with its position in the text."""
    if isinstance(value, Grid):
        return value.each(lambda node: node if isinstance(node, Num) else replace(node))
    return replace(value, span=span)
