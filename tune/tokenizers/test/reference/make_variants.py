"""
Makes variants of tokenizer.json, each with other parts, and writes what Hugging Face's tokenizers makes of
generated strings with them.

Run: python make_variants.py OUT [tokenizer.json ...] (needs tokenizers; made with 0.23.3)
Writes OUT/NAME.json and OUT/NAME.rows (3,000 strings each) for compare_variants.ts, and the golden file
variants.json (a few strings each, for the variants with added tokens). Further tokenizer.json files become variants of their own.
"""

import copy
import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

SEED = 39
STRINGS = 3000
GOLDEN = 3

CORPUS = [
    "Ana has 12 apples and gives 5 apples to Dan. How many apples are left?",
    "The quick brown fox doesn't jump over the lazy dog's back; it's we've they'll I'm you're he'd.",
    "Câte mere îi rămân Anei? În total sunt 25 de mere și încă una.",
    "Straße, naïve café, Ὀδυσσεύς, ΣΊΣΥΦΟΣ, Москва, 東京都, 小明有十二个苹果, 한국어, مرحبا بالعالم, ١٢٣",
    "def f(x):\n    return x ** 2  # square\n\n\tprint(f(3))\r\n",
    "e\u0301 n\u0303 \u00bd \u00b2 \u2460 \U0001f600 \U0001f44d\U0001f3fd \u200d \ufeff",
] * 4

SPECIAL = ["<unk>", "<s>", "</s>", "<pad>", "[UNK]", "[CLS]", "[SEP]"]

# What generated strings are made of.
PIECES = [
    *"abcdefgXYZ 0123456789.,;:!?'\"-_/\\()[]{}<>|@#$%^&*+=~`",
    " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b",
    "\ufeff", "\u200d", "\u200c", "\u00ad", "\u2060", "\x00", "\x01", "\x1f", "\x7f", "\ufffd", "\ufffe", "\u0300",
    "e\u0301", "\u0301", "a\u0308\u0323", "\u1e9b\u0323", "\u212b", "\ufb01", "\u00c5", "\uac00", "\u1100\u1161\u11a8",
    "\u00bd", "\u00b2", "\u2460", "\u0664", "\u096a", "\uff11", "\u2167", "\u3007", "\U0001d7d8", "\u4e00", "\u5341",
    "\u03a3", "\u03c3", "\u03c2", "ΑΣ", "ΑΣ ", "\u0130", "\u0131", "ß", "ẞ", "\u01c5", "\u1d00", "ſ", "K", "Å",
    "é", "ñ", "ü", "Ж", "я", "ё", "א", "שָׁלוֹם", "مرحبا", "ـ", "हिन्दी", "क्ष", "ไทย", "ありがとう", "カタカナ", "ｶﾀｶﾅ", "ー",
    "東京", "小明", "苹果", "한국", "\U00020000", "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1f7\U0001f1f4",
    "\U0001f44d\U0001f3fd", "❤\ufe0f", "①", "™", "…", "“", "”", "’", "–", "€", "¿", "«", "·", "₂", "ª", "ǆ", "‿", "𝒜",
    "\u0378", "\ue000", "\U0010fffd", "\U000e0001", "\u1c89", "\U0001fae9", "\u2ffc", "\ua7da", "\u0c5c",
    "the", " the", "Ana", " apples", "don't", "'S", "'ll", "DON'T", "we've", "12", "2024", "1,000.50", "x=1", "http://a.b/c?d=e",
    "▁", "▁▁", "Ġ", "Ċ", "##", "##a", "</w>", "<0x0A>", "<0x", "Â", "Ã©", "\u0120the",
    "<s>", "</s>", "<unk>", "[CLS]", "<tool>", "<TOOL>", "tool", "<lift>", "<wide>", "<norm>", "Ünïcode", "ünïcode", "new word", "<s", "s>",
]


def make_strings():
    rng = random.Random(SEED)
    strings = ["", " ", "  ", "\n", "a", "<s>", " <s> ", "<tool>", "a<tool>b", "a <tool> b", "  ४", "m²  ½", "ΑΣ", "\ufeff", "é" * 40]
    strings += ["x" * 3000, "ab " * 700, "é" * 500, " " * 300, "1" * 200, "\U0001f600" * 60, "<tool>" * 50, "a" * 99, "a" * 100, "a" * 101]
    while len(strings) < STRINGS:
        kind = rng.random()
        if kind < 0.15:
            text = rng.choice(CORPUS)
            start = rng.randrange(len(text))
            text = text[start : start + rng.randrange(1, 40)]
        elif kind < 0.25:
            text = "".join(any_character(rng) for _ in range(rng.randrange(1, 12)))
        else:
            text = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 12)))
        if rng.random() < 0.1:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(["<tool>", " <tool>", "<lift> ", " <wide> ", "<norm>", "Word"]) + text[at:]
        strings.append(text)
    return strings


def any_character(rng):
    while True:
        code = rng.choice([rng.randrange(0x250), rng.randrange(0x3000), rng.randrange(0x20000), rng.randrange(0x110000)])
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def added(content, **flags):
    token = {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {**token, **flags}


FLAGS = [
    added("<tool>"),
    added("<lift>", lstrip=True),
    added("<wide>", lstrip=True, rstrip=True, special=True),
    added("<norm>", normalized=True),
    added("Word", single_word=True, normalized=True),
    added("Ünïcode", normalized=True),
    added("new word", rstrip=True, normalized=True),
]


def trained(model, trainer, pre=None):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre
    tokenizer.train_from_iterator(CORPUS, trainer)
    return json.loads(tokenizer.to_str())


def make_bases():
    options = {"vocab_size": 400, "show_progress": False, "special_tokens": SPECIAL}
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    bases = {
        "bytes": trained(models.BPE(), trainers.BpeTrainer(**{**options, "vocab_size": 420}, initial_alphabet=alphabet), pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "bpe": trained(models.BPE(unk_token="<unk>"), trainers.BpeTrainer(**options, limit_alphabet=80), pre_tokenizers.Metaspace()),
        "suffix": trained(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"), trainers.BpeTrainer(**options, end_of_word_suffix="</w>", limit_alphabet=80), pre_tokenizers.Whitespace()),
        "prefix": trained(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"), trainers.BpeTrainer(**options, continuing_subword_prefix="##", limit_alphabet=80), pre_tokenizers.Whitespace()),
        "fallback": trained(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True), trainers.BpeTrainer(**{**options, "special_tokens": SPECIAL + bytes_, "vocab_size": 600}, limit_alphabet=60), pre_tokenizers.Metaspace()),
        "wordpiece": trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(**options, limit_alphabet=80), pre_tokenizers.BertPreTokenizer()),
        "unigram": trained(models.Unigram(), trainers.UnigramTrainer(**{**options, "special_tokens": SPECIAL}, unk_token="<unk>"), pre_tokenizers.Metaspace()),
        "wordlevel": trained(models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(**options), pre_tokenizers.Whitespace()),
    }
    unigram = copy.deepcopy(bases["unigram"])
    unigram["model"]["vocab"] += [[token, 0.0] for token in bytes_]
    unigram["model"]["byte_fallback"] = True
    bases["unigram_bytes"] = unigram
    for base in bases.values():
        base["added_tokens"] = [token for token in base["added_tokens"] if token["content"] in SPECIAL[:4]]
        base["normalizer"] = base["pre_tokenizer"] = base["post_processor"] = base["decoder"] = None
    return bases


GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = GPT4.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DEEPSEEK = r"[一-龥぀-ゟ゠-ヿ]+"


def sequence(kind, parts):
    return {"type": "Sequence", kind: parts}


def split(pattern, behavior="Isolated", invert=False, regex=True):
    return {"type": "Split", "pattern": {"Regex" if regex else "String": pattern}, "behavior": behavior, "invert": invert}


def bytes_pre(prefix=False, regex=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def metaspace(scheme="always", splits=True):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": splits}


def replace(pattern, content, regex=False):
    return {"type": "Replace", "pattern": {"Regex" if regex else "String": pattern}, "content": content}


def template(single):
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}, "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}},
    }


def piece(token):
    return {"Sequence": {"id": "A", "type_id": 0}} if token == "A" else {"SpecialToken": {"id": token, "type_id": 0}}


BYTES_DECODER = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
LLAMA_DECODER = sequence("decoders", [replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}])
BERT_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def make_variants():
    """(name, base, parts that replace the base's, keys of the model that change)"""
    yield "gpt2", "bytes", {"pre_tokenizer": bytes_pre(regex=True), "decoder": BYTES_DECODER, "post_processor": bytes_pre(regex=True)}, {}
    yield "gpt2-prefix", "bytes", {"pre_tokenizer": bytes_pre(True, True), "decoder": BYTES_DECODER, "post_processor": {**bytes_pre(True, True), "trim_offsets": False}}, {}
    for name, pattern in [("gpt4", GPT4), ("qwen", QWEN), ("o200k", O200K), ("cjk", DEEPSEEK), ("words", r"\w+|[^\w\s]+"), ("digits", r"\d"), ("boundary", r"\b"), ("lines", r"^.|.$"), ("dot", r"."), ("class", r"[[:alpha:]]+|[[:space:]]"), ("possessive", r"\s++|\S{2,3}+"), ("caseless", r"(?i)straße|ss|σ|k|ſ"), ("script", r"\p{Han}+|\p{Greek}|\p{Cyrillic}+"), ("look", r"(?<=[a-z])(?=[A-Z0-9])|(?<!\s)\p{P}"), ("set", r"[\p{L}&&[^aeiou]]+"), ("empty", r"x*")]:
        yield f"split-{name}", "bytes", {"pre_tokenizer": sequence("pretokenizers", [split(pattern), bytes_pre()]), "decoder": BYTES_DECODER}, {}
    for behavior in BEHAVIORS:
        for invert in (False, True):
            yield f"split-{behavior}-{invert}", "bytes", {"pre_tokenizer": sequence("pretokenizers", [split(r"\s+|\p{N}", behavior, invert), bytes_pre()]), "decoder": BYTES_DECODER}, {}
        yield f"split-string-{behavior}", "bytes", {"pre_tokenizer": sequence("pretokenizers", [split("a", behavior, False, False), bytes_pre()]), "decoder": BYTES_DECODER}, {}
        yield f"punctuation-{behavior}", "bytes", {"pre_tokenizer": sequence("pretokenizers", [{"type": "Punctuation", "behavior": behavior}, bytes_pre()]), "decoder": BYTES_DECODER}, {}
    for each in (False, True):
        yield f"digits-{each}", "bytes", {"pre_tokenizer": sequence("pretokenizers", [{"type": "Digits", "individual_digits": each}, bytes_pre(regex=True)]), "decoder": BYTES_DECODER}, {}
    for name, part in [
        ("whitespace", {"type": "Whitespace"}), ("whitespace-split", {"type": "WhitespaceSplit"}), ("bert", {"type": "BertPreTokenizer"}), ("delimiter", {"type": "CharDelimiterSplit", "delimiter": "-"}),
        ("scripts", {"type": "UnicodeScripts"}), ("fixed", {"type": "FixedLength", "length": 5}), ("metaspace", metaspace()), ("metaspace-first", metaspace("first")), ("metaspace-never", metaspace("never", False)),
    ]:
        yield f"pre-{name}", "bytes", {"pre_tokenizer": sequence("pretokenizers", [part, bytes_pre()]), "decoder": BYTES_DECODER}, {}
        yield f"pre-{name}-bpe", "bpe", {"pre_tokenizer": part, "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}}, {}
    for name, part in [
        ("nfc", {"type": "NFC"}), ("nfd", {"type": "NFD"}), ("nfkc", {"type": "NFKC"}), ("nfkd", {"type": "NFKD"}), ("lower", {"type": "Lowercase"}), ("strip", {"type": "Strip", "strip_left": True, "strip_right": True}),
        ("strip-left", {"type": "Strip", "strip_left": True, "strip_right": False}), ("accents", sequence("normalizers", [{"type": "NFD"}, {"type": "StripAccents"}])), ("nmt", {"type": "Nmt"}), ("prepend", {"type": "Prepend", "prepend": "▁"}),
        ("replace", replace(" ", "▁")), ("replace-expression", replace(r"\s{2,}|\d", "#", True)), ("bert", BERT_NORMALIZER), ("bert-plain", {**BERT_NORMALIZER, "clean_text": False, "handle_chinese_chars": False, "strip_accents": True, "lowercase": False}),
        ("bert-keep", {**BERT_NORMALIZER, "strip_accents": False}), ("several", sequence("normalizers", [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Strip", "strip_left": False, "strip_right": True}, replace("a", "bb")])),
        ("llama", sequence("normalizers", [{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")])),
    ]:
        yield f"norm-{name}", "bytes", {"normalizer": part, "pre_tokenizer": bytes_pre(regex=True), "decoder": BYTES_DECODER}, {}
        yield f"norm-{name}-fallback", "fallback", {"normalizer": part, "decoder": LLAMA_DECODER}, {}
    yield "norm-bytes", "bytes", {"normalizer": {"type": "ByteLevel"}, "decoder": BYTES_DECODER}, {}
    for name, model in [("plain", {}), ("fuse", {"fuse_unk": True}), ("no-unk", {"unk_token": None}), ("ignore", {"ignore_merges": True}), ("no-merges", {"merges": []})]:
        yield f"bpe-{name}", "bpe", {"pre_tokenizer": metaspace(), "decoder": metaspace()}, model
        yield f"suffix-{name}", "suffix", {"pre_tokenizer": {"type": "Whitespace"}, "decoder": {"type": "BPEDecoder", "suffix": "</w>"}}, model
        yield f"prefix-{name}", "prefix", {"pre_tokenizer": {"type": "Whitespace"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False}}, model
        yield f"fallback-{name}", "fallback", {"normalizer": sequence("normalizers", [{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")]), "decoder": LLAMA_DECODER}, model
        yield f"bytes-{name}", "bytes", {"pre_tokenizer": sequence("pretokenizers", [split(GPT4), bytes_pre()]), "decoder": BYTES_DECODER}, model
    for cleanup in (False, True):
        yield f"wordpiece-{cleanup}", "wordpiece", {"normalizer": BERT_NORMALIZER, "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": cleanup}, "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 6], "cls": ["[CLS]", 5]}}, {}
    yield "wordpiece-short", "wordpiece", {"pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}}, {"max_input_chars_per_word": 5}
    yield "unigram", "unigram", {"pre_tokenizer": metaspace(), "decoder": metaspace()}, {}
    yield "unigram-t5", "unigram", {"normalizer": sequence("normalizers", [{"type": "NFKC"}, replace(r" {2,}", " ", True)]), "pre_tokenizer": sequence("pretokenizers", [{"type": "WhitespaceSplit"}, metaspace()]), "decoder": metaspace(), "post_processor": template([piece("A"), piece("</s>")])}, {}
    yield "unigram-bytes", "unigram_bytes", {"pre_tokenizer": metaspace("first"), "decoder": sequence("decoders", [{"type": "ByteFallback"}, metaspace("first")])}, {}
    yield "wordlevel", "wordlevel", {"pre_tokenizer": {"type": "Whitespace"}}, {}
    yield "wordlevel-lower", "wordlevel", {"normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": {"type": "Fuse"}}, {}
    for name, single in [("start", ["<s>", "A"]), ("both", ["<s>", "A", "</s>"]), ("end", ["A", "</s>"]), ("twice", ["<s>", "<s>", "A"])]:
        yield f"template-{name}", "bytes", {"pre_tokenizer": bytes_pre(regex=True), "post_processor": template([piece(one) for one in single]), "decoder": BYTES_DECODER}, {}
    for trims in (False, True):
        yield f"roberta-{trims}", "bytes", {"pre_tokenizer": bytes_pre(trims, True), "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": trims, "add_prefix_space": trims}, "decoder": BYTES_DECODER}, {}
    yield "processors", "bytes", {"pre_tokenizer": bytes_pre(regex=True), "post_processor": sequence("processors", [bytes_pre(regex=True), template([piece("<s>"), piece("A")])]), "decoder": BYTES_DECODER}, {}
    for name, decoder in [
        ("none", None), ("fuse", {"type": "Fuse"}), ("strip", {"type": "Strip", "content": "a", "start": 1, "stop": 2}), ("bpe", {"type": "BPEDecoder", "suffix": "e"}), ("ctc", {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}),
        ("replace", replace("e", "E")), ("replace-expression", replace("[a-e]", "", True)), ("wordpiece", {"type": "WordPiece", "prefix": "##", "cleanup": True}), ("bytes", BYTES_DECODER), ("sequence", sequence("decoders", [{"type": "Fuse"}, replace("▁", " ")])), ("nested", sequence("decoders", [sequence("decoders", [BYTES_DECODER])])), ("metaspace-never", metaspace("never")),
    ]:
        yield f"decoder-{name}", "bpe", {"pre_tokenizer": metaspace(), "decoder": decoder}, {}
    yield "padded", "bytes", {"pre_tokenizer": bytes_pre(regex=True), "decoder": BYTES_DECODER, "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}, "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 3, "pad_type_id": 0, "pad_token": "<pad>"}}, {}


def put(base, parts, model):
    """The variant, with and without added tokens of every flag."""
    variant = {**copy.deepcopy(base), **parts}
    variant["model"] = {**variant["model"], **model}
    yield "", variant
    flagged = copy.deepcopy(variant)
    words = flagged["model"]["vocab"]
    first = max(words.values() if isinstance(words, dict) else [len(words) - 1]) + 1
    flagged["added_tokens"] += [{"id": first + i, **token} for i, token in enumerate(FLAGS)]
    yield "+added", flagged


def units(text, at):
    """A position in code points as one in UTF-16 code units."""
    return len(text[:at].encode("utf-16-le", "surrogatepass")) // 2


def row(tokenizer, text):
    plain, special = tokenizer.encode(text, add_special_tokens=False), tokenizer.encode(text)
    decoded = [decode(tokenizer, plain.ids + special.ids[:3], skips) for skips in (False, True)]
    return [text, plain.ids, flat(text, plain.offsets), special.ids, flat(text, special.offsets), *decoded]


def decode(tokenizer, ids, skips):
    """None where the library panics, which Strip does for some texts."""
    try:
        return tokenizer.decode(ids, skip_special_tokens=skips)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


def flat(text, offsets):
    if all(ord(character) < 0x10000 for character in text):
        return [min(at, len(text)) for pair in offsets for at in pair]
    return [units(text, at) for pair in offsets for at in pair]


def main(out, files):
    out.mkdir(parents=True, exist_ok=True)
    strings = make_strings()
    bases = make_bases()
    golden = {"bases": bases, "added": FLAGS, "variants": []}
    count = 0

    def write(name, text, number):
        tokenizer = Tokenizer.from_str(text)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        rows = [row(tokenizer, string) for string in strings[:number]]
        (out / f"{name}.json").write_text(text, encoding="utf-8")
        with (out / f"{name}.rows").open("w", encoding="utf-8") as file:
            for one in rows:
                file.write(json.dumps(one) + "\n")
        return rows

    rng = random.Random(SEED)
    for name, base, parts, model in make_variants():
        for suffix, variant in put(bases[base], parts, model):
            count += 1
            try:
                rows = write(name + suffix, json.dumps(variant), STRINGS)
            except Exception as error:
                (out / f"{name + suffix}.json").write_text(json.dumps(variant), encoding="utf-8")
                (out / f"{name + suffix}.refused").write_text(str(error))
                print(f"{name + suffix}: {type(error).__name__} {str(error)[:90]}")
                continue
            chosen = [one for one in rng.sample(rows, GOLDEN) if len(one[0]) < 100]
            if suffix:
                golden["variants"].append({"name": name, "base": base, "parts": parts, "model": model, "rows": chosen})
    for path in files:
        count += 1
        write(f"file-{count}", Path(path).read_text(encoding="utf-8"), STRINGS)
    (Path(__file__).parent / "variants.json").write_text(json.dumps(golden, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{count} variants, {len(strings)} strings")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
