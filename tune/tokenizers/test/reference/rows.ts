/** Results of Hugging Face's tokenizers, as make_variants.py writes them. */
import { TokenizerError, type Tokenizer } from '../../src/index.ts'

export type Row = [
  text: string,
  ids: number[],
  offsets: number[],
  idsWithSpecial: number[],
  offsetsWithSpecial: number[],
  /** Null where the library panics. */
  decoded: string | null,
  decodedWithoutSpecial: string | null,
]

function decode(tokenizer: Tokenizer, ids: readonly number[], skipSpecial: boolean): string | null {
  try {
    return tokenizer.decode(ids, { skipSpecial })
  } catch (error) {
    if (error instanceof TokenizerError) return null
    throw error
  }
}

/** What differs between a row and the results of this package. */
export function differencesOf(tokenizer: Tokenizer, row: Row): string[] {
  const [text, ids] = row
  const plain = tokenizer.encode(text, { special: false })
  const special = tokenizer.encode(text, { special: true })
  const decoded = [...ids, ...row[3].slice(0, 3)]
  const own: Row = [
    text,
    plain.ids,
    plain.offsets.flat(),
    special.ids,
    special.offsets.flat(),
    decode(tokenizer, decoded, false),
    decode(tokenizer, decoded, true),
  ]
  const quick = [false, true].map(one => tokenizer.idsOf(text, { special: one }))
  const [left, right] = [
    [...row, row[1], row[3]],
    [...own, ...quick],
  ].map(values => values.map(value => JSON.stringify(value)))
  return (left ?? []).flatMap((value, i) =>
    value === right?.[i] ? [] : [`${JSON.stringify(text)} [${i}]: ${right?.[i]}, but ${value}`],
  )
}
