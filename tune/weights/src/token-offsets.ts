/**
 * The place of each token in its text, for tokenizers that report none. The tokens' bytes are matched
 * with those of the text.
 */
import type { Tokenizer } from '@huggingface/tokenizers'
import type { PieceOf } from './token-pieces.ts'

type Offset = [start: number, end: number]

/** Undefined if the tokens are not the text, for example because the tokenizer normalises it. */
export function tokenOffsets(
  text: string,
  ids: readonly number[],
  tokenizer: Tokenizer,
  pieceOf: PieceOf | undefined,
): Offset[] | undefined {
  const bytes = Buffer.from(text)
  const units = unitsOf(text, bytes.length)
  let position = 0
  const offsets: Offset[] = []
  for (const id of ids) {
    const token = tokenBytes(id, tokenizer, pieceOf)
    const matched = [token, withoutSpace(token)].find(
      part => part && bytes.subarray(position, position + part.length).equals(part),
    )
    if (!matched) return undefined
    const end = position + matched.length
    offsets.push([units[position] ?? 0, matched.length === 0 ? (units[position] ?? 0) : endOf(units, end)])
    position = end
  }
  return position === bytes.length ? offsets : undefined
}

/** For each byte, the index of its character in the string. */
function unitsOf(text: string, length: number): Int32Array {
  const units = new Int32Array(length + 1).fill(text.length)
  let byte = 0
  let unit = 0
  for (const char of text) {
    const size = Buffer.byteLength(char)
    units.fill(unit, byte, byte + size)
    byte += size
    unit += char.length
  }
  return units
}

/** The end of the character that has the last byte in front of `end`. */
function endOf(units: Int32Array, end: number): number {
  const last = units[end - 1]
  let at = end
  while (at < units.length - 1 && units[at] === last) at++
  return units[at] ?? 0
}

function tokenBytes(id: number, tokenizer: Tokenizer, pieceOf: PieceOf | undefined): Buffer {
  if (pieceOf) return Buffer.from(pieceOf(id))
  const token = tokenizer.id_to_token(id) ?? ''
  if (tokenizer.get_added_tokens_decoder().has(id)) return Buffer.from(token)
  const byte = /^<0x([\dA-F]{2})>$/.exec(token)
  return byte ? Buffer.of(Number.parseInt(byte[1] ?? '', 16)) : Buffer.from(token.replaceAll('▁', ' '))
}

/** SentencePiece puts a space in front of a text, which the text does not have. */
const withoutSpace = (token: Buffer): Buffer | undefined =>
  token[0] === 0x20 ? token.subarray(1) : undefined
