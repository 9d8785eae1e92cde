/** A GGUF file's tokenizer as the files of a model directory. */
import { InputError } from '../errors.ts'
import { isFoundFirst, sentencePieceJson } from './sentence-piece.ts'
import type { Token } from './tokens.ts'
import type { ByteLevel, Vocabulary } from './vocabulary.ts'

type Json = Record<string, unknown>

/** Contents of tokenizer.json and tokenizer_config.json. */
export function tokenizerFiles(path: string, vocabulary: Vocabulary): { tokenizer: Json; config: Json } {
  const { model, tokens, start, ends, padding, unknown, addsStart } = vocabulary
  const vocab = new Map<string, number>()
  tokens.forEach(({ text, type }, id) => {
    if (type === 'unused') return
    const other = vocab.get(text)
    if (other !== undefined)
      throw new InputError(
        `${path}: tokenizer.ggml.tokens ${other} and ${id} are both ${JSON.stringify(text)}`,
      )
    vocab.set(text, id)
  })
  const textOf = (id: number | undefined) => (id === undefined ? undefined : tokens[id]?.text)
  const startText = textOf(start)
  if (addsStart && startText === undefined)
    throw new InputError(
      `${path}: texts begin with a start token, but tokenizer.ggml.bos_token_id is missing`,
    )
  const added = tokens.flatMap((token, id) =>
    isAddedTo(model, token)
      ? [
          {
            id,
            content: token.text,
            single_word: false,
            lstrip: false,
            rstrip: model.kind === 'llama' && model.absorbing.has(token.text),
            normalized: false,
            special: token.type !== 'userDefined',
          },
        ]
      : [],
  )
  return {
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      post_processor: addsStart ? startFirst(startText ?? '', start ?? 0) : null,
      ...(model.kind === 'llama'
        ? sentencePieceJson(model, vocab, textOf(unknown))
        : byteLevelJson(path, model, vocab)),
    },
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      clean_up_tokenization_spaces: false,
      ...given({
        bos_token: startText,
        eos_token: textOf(ends[0]),
        pad_token: textOf(padding),
        unk_token: textOf(unknown),
      }),
    },
  }
}

const isAddedTo = ({ kind }: Vocabulary['model'], token: Token) =>
  isFoundFirst(token) && (kind === 'llama' || token.type !== 'unknown')

function byteLevelJson(path: string, { split, merges }: ByteLevel, vocab: ReadonlyMap<string, number>): Json {
  const steps = split.steps.map(step => (step.type === 'ByteLevel' ? { ...step, trim_offsets: true } : step))
  const [only, ...more] = steps
  return {
    normalizer: split.composes ? { type: 'NFC' } : null,
    pre_tokenizer: more.length === 0 ? only : { type: 'Sequence', pretokenizers: steps },
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: split.ignoresMerges ?? false,
      // Added tokens are here, too: the library numbers other ones by itself.
      vocab: Object.fromEntries(vocab),
      merges: merges.map((merge, i) => parted(path, merge, i)),
    },
  }
}

const given = (values: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

function parted(path: string, merge: string, i: number): [string, string] {
  // A token may start with a space, so the first character is never the separator.
  const space = merge.indexOf(' ', 1)
  if (space < 0 || space === merge.length - 1)
    throw new InputError(
      `${path}: tokenizer.ggml.merges ${i} must be two tokens separated by a space, got ` +
        JSON.stringify(merge),
    )
  return [merge.slice(0, space), merge.slice(space + 1)]
}

const startFirst = (text: string, id: number): Json => ({
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: text, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
  pair: [
    { SpecialToken: { id: text, type_id: 0 } },
    { Sequence: { id: 'A', type_id: 0 } },
    { Sequence: { id: 'B', type_id: 1 } },
  ],
  special_tokens: { [text]: { id: text, ids: [id], tokens: [text] } },
})
