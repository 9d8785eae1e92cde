"""
Trains small SentencePiece vocabularies and writes them as GGUF files without weights: one as Phi-3's (a space
before texts, runs of spaces that have one score, tokens that absorb white space), one as Gemma's (no space,
runs of line ends and spaces that are found first).
Run: python make_pieces.py (made with sentencepiece 0.2.3 and gguf 0.19.0).
"""

import io
from pathlib import Path

import gguf
import sentencepiece

here = Path(__file__).parent
CORPUS = [
    "Ana has 12 apples and gives 5 apples to Dan. How many apples are left?",
    "Ana are 12 mere și îi dă lui Dan 5 mere. Câte mere îi rămân? În total sunt 25 de mere.",
    'for (const [name, value] of Object.entries(all)) { total += value } // "total" is a number',
    "The quick brown fox jumps over the lazy dog; the dog sleeps, and the fox is gone.",
    "==== aaaa aaa aa abab ababab -- ---- .. ...",
] * 4
KINDS = gguf.TokenType
RUN_SCORE = -1e9


def train() -> sentencepiece.SentencePieceProcessor:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        model_type="bpe",
        vocab_size=460,
        byte_fallback=True,
        character_coverage=1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def kind_of(pieces: sentencepiece.SentencePieceProcessor, i: int) -> gguf.TokenType:
    if pieces.is_unknown(i):
        return KINDS.UNKNOWN
    if pieces.is_control(i):
        return KINDS.CONTROL
    return KINDS.BYTE if pieces.is_byte(i) else KINDS.NORMAL


def write(name: str, title: str, has_prefix: bool, more: list[tuple[str, float, gguf.TokenType]]) -> None:
    pieces = train()
    tokens = [
        (pieces.id_to_piece(i), pieces.get_score(i), kind_of(pieces, i))
        for i in range(pieces.get_piece_size())
    ] + more
    writer = gguf.GGUFWriter(here / f"{name}.gguf", "llama")
    writer.add_name(title)
    writer.add_block_count(1)
    writer.add_context_length(256)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    if not has_prefix:
        writer.add_add_space_prefix(False)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


write(
    "phi-pieces",
    "Phi-3 small",
    True,
    [("▁" * n, RUN_SCORE, KINDS.NORMAL) for n in (2, 3, 8)]
    + [(text, 0.0, KINDS.CONTROL) for text in ("<|endoftext|>", "<|user|>", "<|assistant|>", "<|end|>")]
    + [("[PAD0]", 0.0, KINDS.UNUSED)],
)
write(
    "gemma-pieces",
    "small",
    False,
    [("<start_of_turn>", 0.0, KINDS.CONTROL), ("<end_of_turn>", 0.0, KINDS.CONTROL)]
    + [(text, -1000.0, KINDS.USER_DEFINED) for text in ("\n", "\n\n", "\n\n\n", "  ", "   ", "    ", "<b>")],
)
