#!/usr/bin/env python3
"""Random templates through jinja2 and through render_chat: the same text, or a refusal by both.

Usage: chat_template_differential.py RENDER_CHAT [CASES [SEED]]      exit 77: jinja2 is not installed

What jinja2 renders may be refused where the refusal says so ("not known", "not computed" and the bounds); what it
does not render must never give text.
"""
import copy
import json
import pathlib
import random
import subprocess
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reference"))
try:
    import jinja_environment
except ImportError:
    print("jinja2 is not installed")
    sys.exit(77)

ALLOWED = ("not known", "not computed", "beyond 64 bits", "deeper than", "bound of steps", "not know", "fewer arguments",
           "takes more arguments", "no argument", "larger", "too large", "has no order", "sum of strings", "a slice of", "items of", "known only as")
NAMES = ["a", "b", "xs", "d", "ns", "m", "messages", "bos_token", "missing", "tools", "add_generation_prompt", "loop"]
TEXTS = ["", " ", "a", "Ab c", " x\\n", "äß Σ", "日本", "a,b,,c", "role", "user", "\\u00e9", "'", "<&>", "12", "-3", "4.5", "1e3",
         "a-b c", "\\ttab", "x" * 12]
FILTERS = ["trim", "upper", "lower", "title", "capitalize", "string", "length", "count", "list", "first", "last", "reverse",
           "join", "join(',')", "default('z')", "default('z', true)", "d(1)", "tojson", "tojson(indent=2)",
           "tojson(separators=(',', ':'))", "tojson(ensure_ascii=true)", "tojson(sort_keys=true)", "int", "int(7)", "float",
           "abs", "items", "items|list", "sort", "sort(reverse=true)", "sort(case_sensitive=true)", "unique|list",
           "dictsort", "dictsort(by='value')", "min", "max", "sum", "indent", "indent(2, true)", "indent(1, blank=true)",
           "replace('a', 'bb')", "replace('', '-')", "replace('a', '', 1)", "map('upper')|list", "map('length')|list",
           "map(attribute='role')|list", "map(attribute='role')|join('/')", "map(attribute='x', default='q')|list",
           "select|list", "select('string')|list", "reject('none')|list", "select('gt', 1)|list",
           "selectattr('role', 'equalto', 'user')|list", "rejectattr('role', 'in', ['user', 'x'])|list",
           "selectattr('role')|list", "selectattr('content', 'defined')|map(attribute='content')|list", "batch(2)", "safe"]
TESTS = ["defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number", "string", "mapping",
         "sequence", "iterable", "callable", "odd", "even", "divisibleby(2)", "divisibleby 3", "sameas none",
         "eq(1)", "equalto 'a'", "ne 2", "lt 3", "in [1, 2]", "in 'abc'", "lower", "upper", "not defined", "not none"]
METHODS = ["strip()", "lstrip()", "rstrip()", "strip('a ')", "rstrip('\\n')", "split()", "split(',')", "split('a', 1)",
           "rsplit(',', 1)", "rsplit()", "rsplit(None, 1)", "split(None, 1)", "splitlines()", "splitlines(true)",
           "startswith('a')", "endswith(('c', 'b'))", "replace('a', 'b')", "replace('a', 'xx', 1)", "upper()", "lower()",
           "title()", "capitalize()", "find('b')", "rfind('a')", "count('a')", "removeprefix('a')", "removesuffix('c')",
           "items()", "keys()", "values()", "get('role')", "get('k', 3)", "items()|list", "keys()|list", "values()|list",
           "append(1)", "join(['a', 'b'])", "role", "content", "k", "x.y", "nope"]
CONVERSATIONS = [
    [],
    [{"role": "user", "content": "Hello"}],
    [{"role": "system", "content": " Be brief.\n"}, {"role": "user", "content": "Why?\n\nNow"},
     {"role": "assistant", "content": "<think>a</think> Because 'x' & \"y\""}, {"role": "user", "content": "Äh … 😀 \u200b ok\t"}],
]


class Generator:
    def __init__(self, rng):
        self.rng = rng

    def pick(self, *makers):
        return self.rng.choice(makers)()

    def literal(self):
        rng = self.rng
        return rng.choice([str(rng.randint(-3, 12)), rng.choice(["1.5", "0.0", "2.0", "1e20", "0.1"]), "true", "false", "none",
                           "'" + rng.choice(TEXTS).replace("'", "\\'") + "'", '"' + rng.choice(TEXTS) + '"'])

    def items(self, depth):
        return ", ".join(self.expression(depth) for _ in range(self.rng.randint(0, 3)))

    def container(self, depth):
        rng = self.rng
        key = lambda: rng.choice(["'role'", "'k'", "'b'", "1", "'Z'", "none", "(1, 2)"])
        return rng.choice([lambda: f"[{self.items(depth)}]", lambda: f"({self.items(depth)},)" if rng.random() < .3 else "(1, 2)",
                           lambda: "{" + ", ".join(f"{key()}: {self.expression(depth)}" for _ in range(rng.randint(0, 3))) + "}",
                           lambda: f"range({rng.randint(-2, 6)})", lambda: f"dict(k={self.expression(depth)})"])()

    def index(self, depth):
        bound = lambda: self.rng.choice(["", "", "1", "-1", "0", "2", "-3", "a"])
        return self.rng.choice([lambda: f"[{bound()}:{bound()}]", lambda: f"[::{self.rng.choice([-1, 2, -2, 1])}]",
                                lambda: f"[{bound()}:{bound()}:{self.rng.choice(['', '-1', '2'])}]",
                                lambda: f"[{self.rng.randint(-3, 3)}]", lambda: "['role']", lambda: "['k']", lambda: ".content",
                                lambda: f"[{self.expression(depth)}]"])()

    def expression(self, depth):
        rng, e = self.rng, self.expression
        if depth <= 0:
            return rng.choice([self.literal, lambda: rng.choice(NAMES[:-1])])()
        d = depth - 1
        return rng.choice([
            self.literal, lambda: rng.choice(NAMES[:-1]), lambda: self.container(d), lambda: f"({e(d)})",
            lambda: f"{e(d)} {rng.choice(['+', '-', '*', '/', '//', '%', '~', '**', '~', '+'])} {e(d)}",
            lambda: f"{e(d)} {rng.choice(['==', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'and', 'or'])} {e(d)}",
            lambda: f"{e(d)} {rng.choice(['==', '<', '<='])} {e(d)} {rng.choice(['==', '<', '!='])} {e(d)}",
            lambda: f"not {e(d)}", lambda: f"-{e(d)}", lambda: f"{e(d)} if {e(d)} else {e(d)}", lambda: f"({e(d)} if {e(d)})",
            lambda: f"{e(d)}|{rng.choice(FILTERS)}", lambda: f"({e(d)})|{rng.choice(FILTERS)}",
            lambda: f"{e(d)} is {rng.choice(TESTS)}", lambda: f"({e(d)}).{rng.choice(METHODS)}",
            lambda: f"({e(d)}){self.index(d)}", lambda: f"{rng.choice(NAMES[:-1])}{self.index(d)}",
            lambda: f"m({self.items(d)})", lambda: f"m(y={e(d)})"])()

    def loop_expression(self):
        part = self.rng.choice(["index", "index0", "first", "last", "length", "revindex", "revindex0", "previtem", "nextitem",
                                "changed(x)", "cycle('p', 'q')", "depth", "depth0"])
        return "loop." + part

    def space(self):
        return self.rng.choice(["", "", " ", "\n", "\n\n", "  \n  ", " \t"])

    def tag(self, inside):
        rng = self.rng
        return f"{{%{rng.choice(['', '', '-', '+'])} {inside} {rng.choice(['', '', '-', '+'])}%}}"

    def print(self, inside):
        return f"{{{{{self.rng.choice(['', '', '-'])} {inside} {self.rng.choice(['', '', '-'])}}}}}"

    def statement(self, depth, in_loop):
        rng, body = self.rng, lambda loop=in_loop: self.body(depth - 1, loop)
        e = lambda: self.expression(rng.randint(0, 3))
        out = lambda: self.print(self.loop_expression() if in_loop and rng.random() < .4 else e())
        if depth <= 0:
            return out()
        return rng.choice([
            out, out, out, out,
            lambda: self.tag(f"if {e()}") + body() + rng.choice(["", self.tag(f"elif {e()}") + body()])
            + rng.choice(["", self.tag("else") + body()]) + self.tag("endif"),
            lambda: self.tag(f"for x in {e()}" + rng.choice(["", "", f" if {e()}", " if x"])) + body(True)
            + rng.choice(["", self.tag("else") + body(False)]) + self.tag("endfor"),
            lambda: self.tag(f"for x, a in {rng.choice(['d.items()', 'd|items', '[(1, 2), (3, 4)]', e()])}") + body(True)
            + self.tag("endfor"),
            lambda: self.tag(f"set {rng.choice(['a', 'b', 'xs', 'd'])} = {e()}"),
            lambda: self.tag(f"set a, b = {rng.choice(['1, 2', e(), '(3, 4)'])}"),
            lambda: self.tag(f"set ns.{rng.choice(['v', 'w'])} = {e()}"),
            lambda: self.tag(f"set {rng.choice(['a', 'b'])}" + rng.choice(["", " | trim", " | upper | trim"])) + body()
            + self.tag("endset"),
            lambda: self.tag(f"macro m(x, y={e()})") + body(False) + self.tag("endmacro"),
            lambda: self.tag(rng.choice(["break", "continue"])) if in_loop else "",
            lambda: self.print("ns.v"), lambda: "{#" + rng.choice(["", "-", "+"]) + " c " + rng.choice(["", "-", "+"]) + "#}",
            lambda: self.tag("raw") + rng.choice([" {{ x }} ", "\n{% if %}\n"]) + self.tag("endraw")])()

    def body(self, depth, in_loop):
        return self.space().join(
            [""] + [self.statement(depth, in_loop) + self.rng.choice(["", "", "t", " t ", "é"]) for _ in range(self.rng.randint(1, 3))] + [""])

    def template(self):
        start = ("{% set a = 3 %}{% set b = 'user' %}{% set xs = [3, 1, 2] %}{% set d = {'role': 'r', 'k': [1, {'z': none}]} %}"
                 "{% set ns = namespace(v=0) %}{% macro m(x, y=2) %}<{{ x }}{{ y }}>{% endmacro %}\n")
        return start + self.body(3, False)


def expected(env, case):
    arguments = copy.deepcopy({key: value for key, value in case.items() if key != "template"})  # indent changes lists
    try:
        return jinja_environment.render(env, case["template"], **arguments), None
    except Exception as error:  # whatever Python has against it
        return None, f"{type(error).__name__}: {error}"


def main():
    warnings.simplefilter("ignore", SyntaxWarning)  # of the code that jinja2 makes
    binary, count, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000, int(sys.argv[3]) if len(sys.argv) > 3 else 1
    env = jinja_environment.environment()
    cases = []
    for i in range(count):
        rng = random.Random(f"{seed}:{i}")
        cases.append({"template": Generator(rng).template(), "messages": rng.choice(CONVERSATIONS),
                      "add_generation_prompt": rng.random() < .5, "bos_token": rng.choice(["", "<s>"]), "eos_token": "</s>"})
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    output = subprocess.run([binary], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    counts = {"same text": 0, "both refuse": 0, "refused here, as said": 0}
    wrong = 0
    for case, line in zip(cases, output, strict=True):
        text, error = expected(env, case)
        ours = json.loads(line)
        if text is None and "error" in ours:
            counts["both refuse"] += 1
        elif text is not None and ours.get("text") == text:
            counts["same text"] += 1
        elif text is not None and any(word in ours.get("error", "") for word in ALLOWED):
            counts["refused here, as said"] += 1
        elif text is not None and " object at 0x" in text:
            counts["refused here, as said"] += "error" in ours
        else:
            wrong += 1
            if wrong <= 5:
                print(json.dumps(case, ensure_ascii=False), "\n  jinja2:", repr(text if error is None else error), "\n  here:  ", line)
    print(", ".join(f"{what} {n}" for what, n in counts.items()) + f", wrong {wrong}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
