/** Hugging Face's tokenizers: a tokenizer.json, read and applied by the Rust library in WebAssembly. */
import { createInstance, type Exports } from './instance.ts'
import { unknownPart } from './unknown-part.ts'

/** A token besides those of the model, as tokenizer.json writes it. */
export type AddedToken = {
  content: string
  single_word: boolean
  lstrip: boolean
  rstrip: boolean
  normalized: boolean
  special: boolean
}

/** What the library does not accept: a tokenizer.json or a text. */
export class TokenizerError extends Error {
  override name = 'TokenizerError'
}

export type Encoded = {
  ids: number[]
  /** Start and end of each token in the text, in UTF-16 code units. Tokens of one character may share it. */
  offsets: [start: number, end: number][]
}

export type Tokenizer = {
  /** `special`: whether the tokens that the tokenizer adds to every text are added, such as a start token. */
  encode: (text: string, options: { special: boolean }) => Encoded
  /** The ids of `encode`. Offsets take longer. */
  idsOf: (text: string, options: { special: boolean }) => number[]
  /** Ids without a token give no text. */
  decode: (ids: readonly number[], options: { skipSpecial: boolean }) => string
  idOf: (token: string) => number | undefined
  /** The token as the decoder is given it. */
  tokenOf: (id: number) => string | undefined
  /** The decoder as tokenizer.json writes it. */
  decoder: unknown
  added: (AddedToken & { id: number })[]
  /** One more than the highest id. */
  size: number
  /** Maximum bytes of a token. */
  maxTokenBytes: number
}

type NewToken = AddedToken & { id?: number }

export type TokenizerOptions = {
  /**
   * Tokens to add to those of the file, which are given. An id is checked against the one that the library
   * assigns.
   */
  add?: (own: Tokenizer['added']) => readonly NewToken[]
  /** Whether special tokens that are written in a text are split like other text. */
  splitsSpecial?: boolean
}

type Description = Pick<Tokenizer, 'added' | 'decoder' | 'maxTokenBytes' | 'size'> & {
  dropout: number | null
}

/** Opens a tokenizer.json. Its sections for truncation and padding have no effect. */
export function openTokenizer(
  json: string,
  { add, splitsSpecial = false }: TokenizerOptions = {},
): Tokenizer {
  let more: readonly NewToken[] | undefined
  function open(): Library {
    const opened = load(json)
    more ??= add?.(opened.describe().added) ?? []
    if (more.length > 0) opened.addTokens(more)
    if (splitsSpecial) opened.splitSpecial()
    return opened
  }
  let library = guardLoad(open)

  /** A panic leaves an instance unusable, so it is replaced. */
  function guarded<T>(run: (library: Library) => T): T {
    try {
      return run(library)
    } catch (error) {
      if (!(error instanceof PanicError)) throw error
      library = open()
      throw new TokenizerError(error.message, { cause: error })
    }
  }

  const { dropout, ...description } = library.describe()
  if (dropout !== null && dropout > 0)
    throw new TokenizerError(
      `model.dropout is ${dropout}: the ids of a text would be random; set it to null, as in inference`,
    )
  return {
    ...description,
    encode: (text, { special }) => guarded(({ encode }) => encode(text, special, true)),
    idsOf: (text, { special }) => guarded(({ encode }) => encode(text, special, false).ids),
    decode: (ids, { skipSpecial }) => guarded(({ decode }) => decode(ids, skipSpecial)),
    idOf: token => guarded(({ idOf }) => idOf(token)),
    tokenOf: id => guarded(({ tokenOf }) => tokenOf(id)),
  }
}

function guardLoad(open: () => Library): Library {
  try {
    return open()
  } catch (error) {
    throw error instanceof PanicError ? new TokenizerError(error.message, { cause: error }) : error
  }
}

type Library = {
  addTokens: (tokens: readonly NewToken[]) => void
  splitSpecial: () => void
  describe: () => Description
  encode: (text: string, special: boolean, offsets: boolean) => Encoded
  decode: (ids: readonly number[], skipSpecial: boolean) => string
  idOf: (token: string) => number | undefined
  tokenOf: (id: number) => string | undefined
}

class PanicError extends Error {}

function load(json: string): Library {
  const { exports, errors } = createInstance()

  const text = () =>
    Buffer.from(exports.memory.buffer, exports.text_start(), exports.text_length()).toString('utf8')

  function call<T>(run: (library: Exports) => T): T {
    try {
      return run(exports)
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error
      throw new PanicError(errors().trim() || 'the tokenizer ran out of memory', { cause: error })
    }
  }

  /** Calls a function that fails with a message. */
  function checked(run: (library: Exports) => number): void {
    if (call(run) !== 0) throw new TokenizerError(text())
  }

  /** Writes an argument and returns its length. */
  function put(value: string): number {
    const length = Buffer.byteLength(value)
    const start = call(library => library.reserve(length))
    Buffer.from(exports.memory.buffer, start, length).write(value, 'utf8')
    return length
  }

  function putIds(ids: readonly number[]): number {
    const length = ids.length * 4
    const start = call(library => library.reserve(length))
    const view = new DataView(exports.memory.buffer, start, length)
    ids.forEach((id, i) => view.setUint32(i * 4, id, true))
    return length
  }

  const numbers = (start: number, length: number) =>
    Array.from(new Uint32Array(exports.memory.buffer, start, length))

  const size = put(json)
  if (call(library => library.load(size)) !== 0) throw new TokenizerError(unknownPart(json) ?? text())
  return {
    addTokens(tokens) {
      const length = put(JSON.stringify(tokens))
      checked(library => library.add_tokens(length))
    },
    splitSpecial: () => checked(library => library.split_special_tokens(1)),
    describe() {
      checked(library => library.describe())
      return JSON.parse(text()) as Description
    },
    encode(value, special, wantsOffsets) {
      const length = put(value)
      checked(library => library.encode(length, Number(special), Number(wantsOffsets)))
      const count = exports.ids_length()
      const ids = numbers(exports.ids_start(), count)
      if (!wantsOffsets) return { ids, offsets: [] }
      const offsets = numbers(exports.offsets_start(), count * 2)
      return { ids, offsets: ids.map((_, i) => [offsets[i * 2] ?? 0, offsets[i * 2 + 1] ?? 0]) }
    },
    decode(ids, skipSpecial) {
      const length = putIds(ids)
      checked(library => library.decode(length, Number(skipSpecial)))
      return text()
    },
    idOf(token) {
      const length = put(token)
      const id = call(library => library.id_of(length))
      return id < 0 ? undefined : id
    },
    tokenOf: id => (call(library => library.token_of(id)) === 1 ? text() : undefined),
  }
}
