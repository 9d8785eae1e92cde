/**
 * The contribution of single tokens to a text, for tokenizers that build text from bytes. With it, a text can
 * be assembled token by token.
 */
import type { Tokenizer } from '@huggingface/tokenizers'

/** Bytes, which may be part of a character; or complete text, which is empty for a skipped token. */
type TokenPiece = Uint8Array | string

export type PieceOf = (id: number, options?: { skipSpecialTokens?: boolean }) => TokenPiece

/**
 * The byte of each character in a token: printable ones stand for themselves, the rest for 256 and up, in
 * order (Radford et al. 2019, GPT-2).
 */
function byteOfCharacter(): Map<string, number> {
  const isPrintable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad)
  let next = 256
  return new Map(
    Array.from({ length: 256 }, (_, byte) => [String.fromCodePoint(isPrintable(byte) ? byte : next++), byte]),
  )
}

/**
 * Undefined for tokenizers that are not byte-level: they strip or add spaces depending on the neighbouring
 * tokens.
 */
export function createPieces(json: object, tokenizer: Tokenizer): PieceOf | undefined {
  if (!('decoder' in json) || (json.decoder as { type?: unknown } | null)?.type !== 'ByteLevel')
    return undefined
  const bytes = byteOfCharacter()
  const added = tokenizer.get_added_tokens_decoder()
  const known = { all: new Map<number, TokenPiece>(), withoutSpecial: new Map<number, TokenPiece>() }
  const make = (id: number, skipsSpecial: boolean): TokenPiece => {
    const token = tokenizer.id_to_token(id)
    if (token === undefined || added.has(id))
      return tokenizer.decode([id], {
        skip_special_tokens: skipsSpecial,
        clean_up_tokenization_spaces: false,
      })
    return Uint8Array.from([...token], character => bytes.get(character) ?? 0)
  }
  return (id, { skipSpecialTokens = false } = {}) => {
    const pieces = skipSpecialTokens ? known.withoutSpecial : known.all
    const piece = pieces.get(id) ?? make(id, skipSpecialTokens)
    pieces.set(id, piece)
    return piece
  }
}
