"""Short templates that together use every part of the language, and random combinations of filters and methods."""

import random

VARIABLES = {
    "s": "Hello, World!", "t": "  two  words\t\n", "u": "Ünïcødé 日本 🦙 ß ǆ Σίσυφος", "q": "it's \"quoted\" \\ \n\t\x07\u200b\ud7ff",
    "e": "", "n": 42, "neg": -7, "big": 123456789012345678901234567890, "f": 2.5, "g": 1e-07, "h": 1e16, "one": 1.0,
    "tiny": 5e-324, "third": 0.1, "b": True, "no": False, "none": None, "l": [3, 1, 2], "names": ["b", "A", "c", "a"],
    "mixed": [1, 1.0, True, "x", None, [1, [2]], {"k": 1.5}], "d": {"b": 1, "a": 2.0, "items": "shadowed", "C": None},
    "users": [{"name": "Zoe", "age": 30, "tags": ["x", "y"]}, {"name": "adam", "age": 25}, {"name": "Bob", "age": 30, "tags": []}],
    "nested": {"a": {"b": [{"c": "deep"}]}}, "html": "<a href='x'>T & \"C\"</a>", "lines": "one\n\n  two\r\nthree\x0bfour\u2028five\n",
    "words": "The quick-brown fox jumps over the lazy dog and well-known long-winded explanations follow immediately",
}  # fmt: skip

EXPRESSIONS = r"""
1 + 2 * 3 - 4 / 2
7 // 2, -7 // 2, 7 // -2, 7.5 // 2, -7.5 // 2, 7 % 3, -7 % 3, 7 % -3, 7.5 % 2, -7.5 % 2
2 ** 3 ** 2, 2 ** -1, 2.0 ** 0.5, -2 ** 2, (-2) ** 2, 0 ** 0, 10 ** 30
1 / 3, 10 / 5, 1e3, 1.5e-10, 1_000, 0x1F, 0b101, 0o17, 00, 1e22, 1e21, 123456789.123, 1e15, 1e-5
big, big * big, big + 0.5, big // 7, big % 7, -big, h, g, one, tiny, third, f, third + 0.2
b + b, b * 3, -b, +b, no + 1.5, b == 1, 1 == 1.0, b is sameas true, "1" == 1, none == no
"a" + "b", "a" * 3, 3 * "ab", "a" * -1, [1] * 2, [1] + [2], (1, 2) + (3,), (1,) * 2, "a" ~ 1 ~ 2.0 ~ none ~ [1]
1 < 2 < 3, 1 < 3 < 2, 3 > 2 >= 2 != 1, "a" < "b", "Z" < "a", [1, 2] < [1, 3], (1, 2) < (1, 2, 0), 1 < 1.5
"ell" in s, 3 in l, "b" in d, "x" not in d, 4 not in l, "" in e, 1 in (1, 2), none in mixed, true in [1]
s[0], s[-1], s[1:4], s[::-1], s[::2], s[-3:], s[:-3], s[10:2:-2], u[0], u[10:14], l[0], l[-1], l[1:], l[::-1], l[5:], l[99], (1, 2, 3)[1:]
l["0"], d["b"], d.a, d["items"], d["zz"], d.zz is undefined, nested.a.b[0].c, nested["a"].b[0]["c"], users[0].tags[1], s.zz, n.zz
(1,), (), (1, 2), [1, [2, (3,)]], {"a": (1,)}, {1: 2, 1.0: 3, true: 4}, {"a": 1, "a": 2}
mixed, d, users, nested, q, [q], ["it's"], ['"'], ["'\""], u, [u], ["\x7f\x80\xa0\xad\u0301\ue000\U000e0001"]
none, true, false, True, False, None, [none, true], "" ~ none
not 1, not "", not [], not 0.0, not none, not zz, 1 and 2, 0 and 2, 1 or 2, 0 or "x", "" or [], not not 3, none or no
"yes" if b else "no", "yes" if no, ("yes" if no) is undefined, 1 if 0 else 2 if 0 else 3
zz, zz is defined, zz is undefined, zz ~ "x", zz == yy, [zz], zz | default("d"), none | default("d"), "" | default("d", true), zz | d, zz | length, zz | list
s | upper, s | lower, s | title, s | capitalize, u | upper, u | lower, u | title, u | capitalize, "x-y (z) [w] a_b" | title, "ß" | title, "ŉ" | title
t | trim, ("xxaxx" | trim("x")), t | length, u | length, l | length, d | length, "" | length, t | wordcount, u | wordcount
s | replace("l", "L"), s | replace("l", "L", 1), s | replace("", "-"), n | replace(4, 5), s | replace("o", ""), "aaa" | replace("a", "b", 2), "aaa" | replace("aa", "b")
l | first, l | last, "" | first, [] | last, s | first, s | last, d | first, l | sum, [1.5, 2] | sum, users | sum("age"), l | sum(start=10), [] | sum, [[1], [2]] | sum(start=[])
l | min, l | max, names | min, names | max, names | min(true), users | max(attribute="age"), [] | min, users | min(attribute="name")
l | sort, l | sort(true), names | sort, names | sort(case_sensitive=true), users | sort(attribute="age"), users | sort(attribute="age,name") | map(attribute="name") | list, users | sort(reverse=true, attribute="age") | map(attribute="name") | list
l | join, l | join(", "), users | join(", ", attribute="name"), "abc" | join("-"), [1, none, true, 1.0] | join("|"), [] | join("x")
l | list, "abc" | list, d | list, (1, 2) | list, u[:3] | list, range(3) | list, range(5, 0, -2) | list, d.items() | list, d.values() | list, d.keys() | list
l | reverse | list, "abc" | reverse, u | reverse, d | reverse | list, range(3) | reverse | list
d | dictsort, d | dictsort(true), {"x": 2, "y": 1} | dictsort(by="value"), d | dictsort(reverse=true), d | items | list, zz | items | list
users | map(attribute="name") | list, users | map(attribute="tags", default=[]) | list, users | map(attribute="tags.0") | list, names | map("upper") | list, l | map("string") | list, names | map("replace", "a", "x") | join, l | map("round", 1) | list
users | selectattr("tags") | map(attribute="name") | list, users | selectattr("age", "equalto", 30) | map(attribute="name") | list, users | rejectattr("tags", "defined") | map(attribute="name") | list, l | select("odd") | list, l | reject("gt", 1) | list, mixed | select("string") | list, mixed | select | list, users | selectattr("name", "in", ["Zoe"]) | list | length
users | groupby("age"), users | groupby("age") | map("first") | list, users | groupby("tags", default="none"), (users | groupby("age"))[0].grouper, (users | groupby("age"))[0].list | length, names | unique | list, names | unique(true) | list, [1, 1.0, true, 2] | unique | list
l | batch(2) | list, l | batch(2, "x") | list, range(7) | slice(3) | list, range(7) | slice(3, 0) | list
3.7 | int, "42" | int, "42.9" | int, "x" | int, "x" | int(7), none | int, "0x1f" | int(0, 16), "101" | int(base=2), " 12 " | int, "1_000" | int, true | int, -3.7 | int, "abc" | int(none)
"3.5" | float, "x" | float, "x" | float(1.5), 3 | float, "1e3" | float, none | float, true | float, "-.5" | float, "1_0.5" | float
2.5 | round, 3.5 | round, 2.675 | round(2), 1234.567 | round(-2), 2.1 | round(method="ceil"), 2.9 | round(0, "floor"), 42 | round, 42 | round(1), -2.5 | round, 15 | round(-1), 0.5 | round, 1e16 | round, 5.015 | round(2)
-3 | abs, 3.5 | abs, (-3.5) | abs, true | abs
"%s is %d years" | format("x", 3), "%05.2f|%-6s|%+d|%x|%o|%e|%g|%%" | format(3.14159, "ab", 5, 255, 8, 12345.678, 0.0001), "%r %s" % ("a", none), "%(a)s %(b).1f" % {"a": 1, "b": 2}, "%5s|%-5s|%.2s" % ("a", "b", "cde"), "%c%c" % (65, "z"), "%s" % l, "%d" % 3.9, "%i" % true, "%#x %X" % (255, 255), "%g %g %g" % (1e10, 1e-5, 100000.0), "%.3g" % 1234.5, "%a" % u[:3], "%s %s" % (1, [2])
"{} {1}".format(1) if false else "{} {}".format(1, 2.0), "{0} {1} {0}".format("a", "b"), "{x} {y[0]} {z.name}".format(x=1, y=[2], z=users[0]), "{:>6}|{:<6}|{:^6}|{:*^7}".format("ab", "cd", "ef", "g"), "{:05d} {:+d} {: d} {:,} {:_}".format(42, 42, 42, 1234567, 1234567), "{:.2f} {:10.3f} {:<10.1f}| {:e} {:g} {:%}".format(3.14159, 2.5, 1.25, 12345.678, 0.0001, 0.5), "{:x} {:X} {:#x} {:b} {:o} {:#b}".format(255, 255, 255, 5, 8, 5), "{!r} {!s}".format("a", "b"), "{{}} {}".format(1), "{:{}}".format("x", 5), "{:.3}".format("abcdef"), "{:.3} {:.1} {}".format(1234.5, 0.5, 1e20), "{:,.2f} {:010.2f} {:+.1f}".format(1234567.891, -3.14159, 2.25), "{:c}".format(65), "{} {}".format(none, true)
s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), u.upper(), u.lower(), u.casefold(), u.title(), u.swapcase(), "ΑΣ".lower(), "ΑΣ Σ".title(), "they're bill's".title(), "ﬁne ǆ ŉ".title(), "ǆabc".capitalize(), "ᾳ".title(), "ა".title(), "ꭰᏸ".casefold()
t.strip(), t.lstrip(), t.rstrip(), "xyabcyx".strip("xy"), "xyabcyx".lstrip("xy"), "xyabcyx".rstrip("xy"), "\u3000a\ufeff\u00a0".strip(), "\x1ca\x85".strip(), "a".strip(none)
"a,b,,c".split(","), "a,b,,c".split(",", 1), "a,b,,c".rsplit(",", 1), "a,b,,c".rsplit(",", maxsplit=2), t.split(), " a  b c ".split(none, 1), " a  b c ".rsplit(none, 1), "".split(), "".split(","), lines.splitlines(), lines.splitlines(true), "a-b".partition("-"), "a-b-c".rpartition("-"), "ab".partition("x"), "ab".rpartition("x"), "abab".split("ab")
s.startswith("He"), s.startswith(("x", "H")), s.endswith("!"), s.endswith("d", 0, -1), s.startswith("e", 1), s.find("l"), s.find("l", 4), s.find("zz"), s.rfind("l"), s.index("o"), s.rindex("o"), s.count("l"), s.count(""), s.count("l", 4), u.find("日"), "aaaa".count("aa"), "".find(""), "abc".find("", 5), "abc".rfind("")
s.replace("l", "x"), s.replace("l", "x", 1), s.removeprefix("Hello"), s.removesuffix("!"), s.removesuffix(""), "-".join(names), "".join(["a"]), s.zfill(20), "-42".zfill(6), "42".rjust(5, "0"), "42".ljust(5) ~ "|", "ab".center(5, "*"), "abc".center(6, "*"), "ab".center(6), s | center(20), "ab" | center(5), "a\tb".expandtabs(4), "a\tbc\td".expandtabs()
"abc".isalpha(), "ab1".isalnum(), "12".isdigit(), "²".isdigit(), "²".isdecimal(), "½".isnumeric(), "一".isnumeric(), "A B".isupper(), "a1".islower(), "1".islower(), "Ab Cd".istitle(), "AB".istitle(), "ǅ".istitle(), " \t".isspace(), "".isspace(), "a_1".isidentifier(), "1a".isidentifier(), "a\n".isprintable(), "é".isascii(), "".isalpha(), "".isascii(), "".isprintable()
"abc".translate({97: "X", 98: none}), "abc".translate("".maketrans("ab", "xy")), "abc".translate("".maketrans("ab", "xy", "c"))
d.get("b"), d.get("zz"), d.get("zz", 1), d.get("C", 1), d.keys(), d.values(), d.items(), d.copy(), d.items() | list | first, l.index(1), l.count(3), (1, 2, 1).count(1), (1, 2).index(2), l.copy(), dict(a=1, b=2), dict([("x", 1)], y=2), dict({"k": 1}), dict.fromkeys(["a"], 0), "a" in d.keys()
d | tojson, mixed | tojson, users | tojson, q | tojson, u | tojson, u | tojson(ensure_ascii=true), d | tojson(indent=2), users | tojson(indent=4), [] | tojson(indent=2), {} | tojson(indent=2), d | tojson(separators=(",", ":")), d | tojson(sort_keys=true), nested | tojson(indent="--"), d | tojson(indent=0), [1.0, 1e-07, 1e16, 1e22, big] | tojson, (1, 2) | tojson, {1: 2, none: 3, true: 4, 1.5: 5} | tojson, html | tojson, "\u2028\x7f" | tojson, ["x"] | tojson(true), {"a": [1, {"b": []}]} | tojson(indent=2, separators=(", ", " = "))
html | e, html | escape, html | forceescape, html | e | e, html | safe, (html | safe) ~ "<", ("<" | e) + "<", ("<" | safe) + ">", ("%s" | safe) % "<b>", ["<" | safe, "<"] | join, html | striptags, "<p>a  b</p>\n<!-- c --> &amp; d" | striptags, (html | e) is escaped, ("<" | e).upper(), ["<" | e]
s | truncate(5), s | truncate(5, true), s | truncate(8, false, "…", 0), words | truncate(20), words | truncate(20, leeway=0), words | truncate(20, true, "~"), "short" | truncate
"a\nb\n\nc" | indent, "a\nb\n\nc" | indent(2, true), "a\nb\n\nc" | indent(2, blank=true), "a\nb" | indent("> ", true), lines | indent, "a\n" | indent, "" | indent
words | wordwrap(20), words | wordwrap(10), "supercalifragilistic word" | wordwrap(8), "supercalifragilistic word" | wordwrap(8, false), "a\n\nb c d e f" | wordwrap(3, wrapstring="|"), words | wordwrap(12, break_on_hyphens=false)
1000 | filesizeformat, 1 | filesizeformat, 0 | filesizeformat, 1500000 | filesizeformat, 1048576 | filesizeformat(true), 123.4 | filesizeformat, 10 ** 30 | filesizeformat
"a b/c?d=é&" | urlencode, {"a b": 1, "c": "é/"} | urlencode, [("x", "y z")] | urlencode, 3 | urlencode, {"class": "a", "id": none, "x": "<"} | xmlattr, {"a": 1} | xmlattr(false), {} | xmlattr
d | attr("items") is callable, users[0] | attr("name") is defined, l | attr("zz") is defined, n | string, f | string, none | string, l | string, s | string
l | pprint, d | pprint, users | pprint, s | pprint, none | pprint, [["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] * 3, {"k": ["bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"] * 2}] | pprint
3 is odd, 4 is even, 9 is divisibleby 3, 9 is divisibleby(2), b is boolean, 1 is boolean, 1 is integer, b is integer, 1.0 is float, 1 is float, 1 is number, b is number, "1" is number, s is string, d is mapping, l is mapping, l is sequence, s is sequence, d is sequence, n is sequence, l is iterable, n is iterable, none is none, zz is none, no is false, 0 is false, 1 is true, b is true
"abc" is lower, "ABC" is upper, "upper" is filter, "zz" is filter, "odd" is test, 1 is eq 1, 1 is ne 2, 2 is gt 1, 2 is ge 2, 1 is lt 2, 1 is le 1, 1 is in [1], "x" is in d, 1 is sameas 1, none is sameas none, range is callable, s is callable, s.upper is callable, zz is callable, zz is iterable, zz is sequence, not 3 is odd, 3 is not odd, l | length is odd, (l | length) is odd
d.items() is iterable, d.items() is sequence, (l | map("string")) is iterable, (l | map("string")) is sequence, range(3) is sequence, d.keys() | length, [l | map("string")] | length, range(10)[2:5], range(10)[-1], range(0, 10, 3), range(3) == range(0, 3), 3 in range(5), range(5) | length, range(5) | sum
users | map(attribute="age") | sum, users | map("attr", "name") | select("defined") | list, l | map("abs") | sort | join(","), (names | map("upper") | sort | join("/")).split("/")[0], names | map("length") | list, [[1, 2], [3]] | map("sum") | list, users | map(attribute="name") | map("lower") | sort | list
none is defined and none is not none, zz is defined and zz.x, (zz or {}).x is undefined, (none or {"x": 1}).x, d.b if d.b is defined else 0, l[0] + l[-1] * 2, (l | first) * 2, -l[0] | abs, s[0] | lower ~ s[1:] | upper
"a" "b" 'c', "\n\t\\\'\"\x41\u00e9\U0001f999\101\q", 'a\
b', "\u00e9" | length, "tab\tx", 'single "double"', "it's"
{"a": 1}.a, {"a": 1}["a"], {"a": {"b": 2}}.a.b, [1, 2, 3][1], (1, 2)[0], "abc"[1], {"keys": 1}.keys is callable, {"x-y": 1}["x-y"], d["items"] ~ "", l.0, users.0.name
n.bit_length(), one.is_integer(), n.real, f.imag, n.numerator, true.real, 3.0.is_integer()
1 if l else 0, 1 if {} else 0, 1 if range(0) else 0, 1 if (l | select) else 0, 1 if d.items() else 0, 1 if "" | e else 0
strftime_now("%Y-%m-%d %H:%M:%S"), strftime_now("%A %a %B %b %d %-d %e %j %-j %U %W %V %G %u %w"), strftime_now("%y %I %-I %p %M %-M %S %-S %f %z %Z %% %c | %x | %X"), strftime_now("%D %F %T %R %r %h %n %t %C %g %k %l %P"), strftime_now("%_d %_m %03d %^a %^B %#Z %5Y %-H %-m %y"), strftime_now("no directives é")
[1, 2] == [1.0, 2.0], {"a": 1} == {"a": true}, (1,) == [1], "a" == ("a" | safe), zz == none, [] == (), {"a": [1]} == {"a": [1]}, 1 != 2 != 1, "é" == "é"
namespace(a=1).a, namespace(a=1), namespace({"b": 2}).b, namespace(a=1).zz is undefined, cycler("a", "b").next(), joiner("|")() ~ "x", dict(a=namespace(b=1)).a.b
"{:>{w}.{p}f}".format(3.14159, w=10, p=2), "{a[k]}".format(a={"k": 5}), "{0[1]}".format([1, 2]), "{:d}".format(true), "{}".format([1, "a"]), "{:<5}".format(none ~ ""), "{:s}".format("x"), "{:n}".format(1234), "{:.0f} {:.0f} {:.1f}".format(0.5, 1.5, 0.25), "{x}".format_map({"x": 1}), "%.0f %.0f %.1f" % (0.5, 1.5, 0.25), "%5.1f|%-8.3e|" % (2.25, 12345.6789)
""".strip().split("\n")  # fmt: skip

STATEMENTS = [
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }}{{ loop.cycle('a', 'b') }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.changed(x > 1) }};{% endfor %}",
    "{% for x in [] %}x{% else %}empty{% endfor %}{% for x in l %}{% break %}{% else %}broken{% endfor %}{% for x in l %}{% continue %}{% else %}continued{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% else %}none{% endfor %}{% for x in l if x > 9 %}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a + b + c }}{% endfor %}{% for (a, b) in ['xy'] %}{{ b }}{{ a }}{% endfor %}",
    "{% for c in u[:4] %}[{{ c }}]{% endfor %}{% for x in zz %}{{ x }}{% endfor %}{% for x in range(3) %}{{ x }}{% endfor %}{% for x in l | map('string') %}{{ loop.last }}{{ x }}{% endfor %}{% for x in l | map('string') %}{{ loop.length }}{{ x }}{{ loop.nextitem }}{% endfor %}",
    "{% for n in [{'v': 1, 'c': [{'v': 2, 'c': [{'v': 3, 'c': []}]}, {'v': 4, 'c': []}]}] recursive %}{{ loop.depth }}:{{ n.v }}({{ loop(n.c) }}){% endfor %}",
    "{% for x in l %}{% for y in l %}{% if y == 1 %}{% continue %}{% endif %}{% if y == 2 %}{% break %}{% endif %}{{ x }}{{ y }}{{ loop.index }} {% endfor %}|{% endfor %}",
    "{% set x = 1 %}{% for i in l %}{{ x }}{% set x = i %}{{ x }} {% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (a, b) = (b, a) %}{{ a }}{{ b }}",
    "{% set ns = namespace(i=0, seen=[]) %}{% for i in l %}{% set ns.i = ns.i + i %}{% set ns.seen = ns.seen + [i] %}{% endfor %}{{ ns.i }}{{ ns.seen }}{{ ns }}{% set ns.new = 'x' %}{{ ns.new }}",
    "{% set x %}a {{ n }} b{% endset %}[{{ x }}]{% set y | upper | replace('A', '_') %}banana{% endset %}[{{ y }}]{{ x | length }}{{ x is string }}",
    "{% macro m(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(1, c=5) }} {{ m(b=1, a=0) }} {{ m() }} {{ m.name }} {{ m.arguments }} {{ m }} {{ m.catch_kwargs }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}{% macro k() %}{{ kwargs | dictsort }}{% endmacro %}{{ k(z=1, a=2) }}{{ k(**{'q': 1}) }}{{ m(*[1, 2], **{'y': 3}) }}",
    "{% macro dialog(title) %}<{{ title }}>{{ caller() }}</>{% endmacro %}{% call dialog('T') %}body {{ n }}{% endcall %}{% macro each(xs) %}{% for x in xs %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(x, i) each(l) %}{{ i }}:{{ x }} {% endcall %}{% macro opt() %}{% if caller %}C{{ caller() }}{% else %}none{% endif %}{% endmacro %}{{ opt() }}{% call opt() %}y{% endcall %}",
    "{% macro rec(x) %}{{ x }}{% if x > 0 %},{{ rec(x - 1) }}{% endif %}{% endmacro %}{{ rec(5) }}{% macro outer() %}{% macro inner() %}in{{ n }}{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}",
    "{% macro late() %}{{ v }}{% endmacro %}{% set v = 'set after' %}{{ late() }}{% for i in [1, 2] %}{% macro in_loop() %}{{ i }}{% endmacro %}{{ in_loop() }}{% endfor %}",
    "{% filter upper %}a {{ s }} b{% endfilter %}{% filter replace('a', 'b') | trim %}  banana  {% endfilter %}{% with a = 1, b = n %}{{ a }}{{ b }}{% set c = 3 %}{{ c }}{% endwith %}{{ c is defined }}{% with %}{% set q2 = 1 %}{% endwith %}{{ q2 is defined }}",
    "{% raw %}{{ raw }} {% if %}{% endraw %}|{%- raw -%}  x  {%- endraw -%}  |{# a comment {{ x }} #}|{#- trimmed -#}  |\n  {# lstrip #}\nx",
    "a\n  {% if true %}\n    b\n  {% endif %}\n  c {% if true %} d {% endif %} \n{%- if true -%}\n e \n{%- endif %}\n\n f\n{%+ if true %}\n g{% endif +%}\n h\n",
    "  {{ n }}\n  {{- n -}}  \n  {{ n }}\n\n{% set x = 1 %}\n\n{% set y = 2 -%}\n\n z\n",
    "line\r\n{% if true %}\r\n  crlf\r\n{% endif %}\r\nend\r",
    "{% if zz %}a{% elif n %}b{% else %}c{% endif %}{% if l and not e %}d{% endif %}{% if n == 42 and s.startswith('H') or zz.x %}e{% endif %}{% if n > 1: %}f{% endif %}{% print n, s %}",
    "{% block a %}in block {{ n }}{% endblock %}{{ self.a() }}{% block b %}{% endblock b %}{% for i in l %}{% block c scoped %}{{ i }}{% endblock %}{% endfor %}{% for i in l %}{% block d %}{{ i is defined }}{% endblock %}{% endfor %}",
    "{% for m in users %}\n{{ m.name }}:\n{% if m.age == 30 %}\n{% generation %}\n{{ m.age }}\n{% endgeneration %}\n{% else %}\n{{- m.age -}}\n{% endif %}\n{% endfor %}\n",
    "{% for m in users %}{{ m.name }}{%- generation -%} {{ m.age }} {%- endgeneration -%} .{% set x = 1 %}{% endfor %}{% generation %}{% set inner = 1 %}{% endgeneration %}{{ inner is defined }}",
    "{%- macro show(x, depth=0) -%}{%- if x is mapping -%}{%- for k, v in x | dictsort -%}{{ '  ' * depth }}{{ k }}:{{ show(v, depth + 1) }}\n{%- endfor -%}{%- elif x is iterable and x is not string -%}{%- for v in x %}{{ show(v, depth) }},{% endfor -%}{%- else -%}{{ x | tojson }}{%- endif -%}{%- endmacro -%}{{ show(nested) }}{{ show(users) }}",
    "{% autoescape false %}{{ html }}{% endautoescape %}{% set c = cycler('odd', 'even') %}{% for i in l %}{{ c.next() }}{{ c.current }} {% endfor %}{% set j = joiner() %}{% for i in l %}{{ j() }}{{ i }}{% endfor %}",
    "{% if 'a' is filter %}{{ 'x' | a }}{% else %}no filter{% endif %}{{ ('x' | zzfilter) if false else 'lazy' }}",
    "{% for i in [1, none, 3] %}{{ i }}{{ loop.nextitem }}{{ loop.previtem }}{{ loop.last }}{% endfor %}{% set none_default = none %}{{ none_default | default('x') }}{{ loop is defined }}",
    "{{ {'a': 1, **{'b': 2}} }}", "{{ l.append(1) }}", "{{ d.update({}) }}", "{{ s.__class__ }}", "{{ zz.a }}", "{{ zz() }}", "{{ zz + 1 }}", "{{ none.x }}", "{{ none.x.y }}", "{{ l | tojson(indent=2", "{% for x in none %}{% endfor %}",
    "{{ s | nofilter }}", "{{ s is notest }}", "{% unknown %}", "{% if true %}", "{% endfor %}", "{{ 1 + 'a' }}", "{{ 'a' < 1 }}", "{{ raise_exception('stop ' ~ n) }}", "{{ 1 // 0 }}", "{{ 5 % 0 }}", "{{ d[l] }}", "{{ {l: 1} }}", "{{ 1 in 5 }}",
    "{{ n | length }}", "{{ (l | map('string')) | length }}", "{{ l | map('nofilter') | list }}", "{{ ns.x }}{% set n.x = 1 %}", "{% set a, b = [1] %}", "{{ m() }}{% macro m() %}early{% endmacro %}", "{{ range(1000000) }}", "{{ 10 ** 5000 }}",
    "{{ '%d' % 'x' }}", "{{ '%s %s' % 1 }}", "{{ '{} {}'.format(1) }}", "{{ zz | tojson }}", "{{ l | join(attribute='x') }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=1) }}", "{{ zz | int }}", "{{ s | int | zz }}", "{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}", "{{ zz | abs }}",
    "{{ [1, 'a'] | sort }}", "{{ [none, 1] | min }}", "{{ none | trim }}", "{{ 5 | upper }}", "{{ l | upper }}", "{{ none | join }}", "{{ d | sum }}", "{{ 'abc' | sum }}", "{{ namespace(_x=1) }}", "{% set ns = namespace() %}{% set ns.__x = 1 %}", "{{ lipsum is defined }}{{ range is defined }}{{ dict is defined }}{{ cycler is defined }}{{ self is defined }}{{ caller is defined }}{{ super is defined }}",
]  # fmt: skip

PIECES = ["| upper", "| trim", "| list", "| length", "| first", "| last", "| reverse | list", "| string", "| join('-')", "| tojson", "| int", "| float", "| abs", "| sort", "| unique | list", "| title", "| default('x', true)", "| replace('a', 'b')", "| e", "| capitalize", "| round(1)", "| sum", "| min", "| max", "| map('string') | list", "| select | list", "| batch(2) | list", "| wordcount", "| indent", "| dictsort", "| items | list", "| center(9)", "| truncate(4)", "[0]", "[1:]", "[::-1]", ".upper()", ".split()", ".items() | list", "* 2", "+ 1", "~ 'x'", "== 1", "is string", "is sequence", "in ['x', 1]", "is mapping", "% 3", "// 2", "| urlencode", "| filesizeformat", "| groupby('name')", "| map(attribute='name') | list", "| selectattr('name') | list", "| pprint", "| striptags", "| forceescape", "| wordwrap(5)", "| xmlattr", "| slice(2) | list", "| format(1)", ".title()", ".count('a')", ".strip('a')", "[-1]", "| attr('upper') is defined"]  # fmt: skip


def random_expressions(count, seed):
    """Expressions with up to four operations one behind the other. Most of them fail."""
    rng = random.Random(seed)
    names = [one for one in VARIABLES if one != "none"] + ["zz", "[n, f]", "{'a': s}", "(s, n)"]
    for _ in range(count):
        text = rng.choice(names)
        for _ in range(rng.randint(1, 4)):
            text = f"({text}) {rng.choice(PIECES)}"
        yield text


def cases():
    """Each line of expressions printed one by one, and as a list."""
    printed = [f"{{% for value in [{line}] %}}{{{{ value }}}}|{{% endfor %}}" for line in EXPRESSIONS]
    return printed + [f"{{{{ [{line}] }}}}" for line in EXPRESSIONS] + STATEMENTS
