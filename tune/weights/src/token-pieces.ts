/**
 * The contribution of single tokens to a text, for tokenizers that build text from bytes. With it, a text can
 * be assembled token by token.
 */
import type { Tokenizer } from '@cairn-tune/tokenizers'

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

type Decoder = { type?: unknown; decoders?: Decoder[] } | null
const decodersOf = (decoder: Decoder): Decoder[] =>
  decoder?.type === 'Sequence' ? (decoder.decoders ?? []).flatMap(decodersOf) : [decoder]

/**
 * Undefined for tokenizers that are not byte-level: they strip or add spaces depending on the neighbouring
 * tokens.
 */
export function createPieces({ decoder, added, tokenOf }: Tokenizer): PieceOf | undefined {
  const [only, ...more] = decodersOf(decoder as Decoder)
  if (only?.type !== 'ByteLevel' || more.length > 0) return undefined
  const bytes = byteOfCharacter()
  const special = new Set(added.flatMap(token => (token.special ? token.content : [])))
  const pieces = new Map<number, { isSpecial: boolean; piece: TokenPiece }>()
  function make(id: number): { isSpecial: boolean; piece: TokenPiece } {
    const token = tokenOf(id) ?? ''
    const own = Array.from(token, character => bytes.get(character))
    return {
      isSpecial: special.has(token),
      // The decoder takes a token as text if one of its characters stands for no byte.
      piece: own.every(byte => byte !== undefined) ? Uint8Array.from(own) : Buffer.from(token),
    }
  }
  return (id, { skipSpecialTokens = false } = {}) => {
    const { isSpecial, piece } = pieces.get(id) ?? make(id)
    pieces.set(id, { isSpecial, piece })
    return skipSpecialTokens && isSpecial ? '' : piece
  }
}
