"""The Python half of compare-languages: makes documents, derives keys with rfc8785, and judges."""

import hashlib
import json
import random
import struct
import sys

SAFE = 2**53 - 1
PLAIN = "abcdefghijklmnopqrstuvwxyz_0123456789"
# Where orders, escapes and planes differ.
ODD = "\"\\/\b\f\n\r\t\x00\x01\x1f\x7f\x80\u00e9\u0301\u2028\ud7ff\ue000\ufb33\ufeff\uffff\U00010000\U0001f600\U0010ffff"


def text(rng):
    length = rng.choice((0, 1, 2, 5, 12, 40))
    odd = rng.random() < 0.4
    return "".join(rng.choice(ODD) if odd and rng.random() < 0.4 else rng.choice(PLAIN) for _ in range(length))


def number(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randint(-1000, 1000)
    if kind == 1:
        return rng.randint(-SAFE, SAFE)
    if kind == 2:
        return rng.randint(-(10**9), 10**9) / 10 ** rng.randint(0, 12)
    if kind == 3:
        return rng.choice((0.0, -0.0, 1.0, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, SAFE, -SAFE, 1e-6, 123456789.125))
    while True:
        (value,) = struct.unpack("<d", rng.randbytes(8))
        # NaN is not equal to itself. A double that is written like a large integer has no key.
        if value == value and abs(value) != float("inf") and not SAFE < abs(value) < 1e21:
            return value


def value(rng, depth):
    kind = rng.random()
    if depth == 0 or kind < 0.5:
        return rng.choice((text, text, number, number, lambda rng: rng.choice((None, True, False))))(rng)
    if kind < 0.7:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 5))]
    return {text(rng): value(rng, depth - 1) for _ in range(rng.randint(0, 7))}


def documents(count, seed):
    rng = random.Random(seed)
    for index in range(count):
        members = [(text(rng), value(rng, 4)) for _ in range(rng.randint(0, 8))]
        rng.shuffle(members)
        # Written as another party might: escaped or not, with or without white space.
        separators = rng.choice(((",", ":"), (", ", ": "), (" ,\t", "\r\n: ")))
        written = json.dumps(dict(members), ensure_ascii=rng.random() < 0.5, separators=separators)
        print(json.dumps({"input": written, "tenant": f"t{index % 10}"}))


def keys():
    import rfc8785

    for line in sys.stdin:
        request = json.loads(line)
        canonical = rfc8785.dumps(json.loads(request["input"]))
        digest = hashlib.sha256(canonical).hexdigest()
        print(json.dumps({"canonical": canonical.decode(), "key": f"dk_{request['tenant']}_{digest[:40]}"}))


def judge(asked, ours, *others):
    def rows(path):
        # Only a line feed ends a line: a string may hold U+2028.
        with open(path, encoding="utf-8", newline="\n") as file:
            return [line for line in file.read().split("\n") if line]

    asked, ours, others = rows(asked), rows(ours), [rows(path) for path in others]
    counts = {len(asked), len(ours), *map(len, others)}
    if len(counts) != 1 or not asked:
        sys.exit(f"not every document was answered: {sorted(counts)}")
    wrong = 0
    for index, (request, mine) in enumerate(zip(asked, ours)):
        mine = json.loads(mine)
        for other in (json.loads(theirs[index]) for theirs in others):
            if (mine.get("canonical"), mine.get("key")) != (other["canonical"], other["key"]):
                wrong += 1
                print(f"document {index}: {request}\n  ours   {mine}\n  theirs {other}", file=sys.stderr)
    print(f"{len(asked)} documents, {len(set(ours))} distinct answers, {wrong} disagreements")
    sys.exit(1 if wrong else 0)


command, *arguments = sys.argv[1:]
if command == "documents":
    documents(int(arguments[0]), int(arguments[1]))
elif command == "keys":
    keys()
else:
    judge(*arguments)
