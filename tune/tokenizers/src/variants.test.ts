import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { differencesOf, type Row } from '../test/reference/rows.ts'
import { openTokenizer, type AddedToken } from './index.ts'
import { WASM_PATH } from './instance.ts'

type Base = { model: { vocab: Record<string, number> | unknown[] }; added_tokens: object[] }
type Variant = { name: string; base: string; parts: object; model: object; rows: Row[] }
type Golden = { bases: Record<string, Base>; added: AddedToken[]; variants: Variant[] }

/** Written by test/reference/make_variants.py. */
const golden = JSON.parse(
  readFileSync(new URL('../test/reference/variants.json', import.meta.url), 'utf8'),
) as Golden

/** The tokenizer.json of a variant, put together as make_variants.py does. */
function jsonOf({ base: baseName, parts, model }: Variant): string {
  const base = golden.bases[baseName]!
  const { vocab } = base.model
  const ids = Array.isArray(vocab) ? [vocab.length - 1] : Object.values(vocab)
  const first = Math.max(...ids) + 1
  const added = golden.added.map((token, i) => ({ id: first + i, ...token }))
  return JSON.stringify({
    ...base,
    ...parts,
    model: { ...base.model, ...model },
    added_tokens: [...base.added_tokens, ...added],
  })
}

test('ids, offsets and texts equal those of the Python package for every kind of part', () => {
  expect(golden.variants.length).toBeGreaterThan(140)
  const wrong = golden.variants.flatMap(variant => {
    const tokenizer = openTokenizer(jsonOf(variant))
    return variant.rows.flatMap(row => differencesOf(tokenizer, row).map(text => `${variant.name}: ${text}`))
  })
  expect(wrong).toEqual([])
})

test('tokenizers.wasm is the file that rust/build.sh makes', () => {
  const [sum] = readFileSync(new URL('../tokenizers.wasm.sha256', import.meta.url), 'utf8').split(' ')
  expect(createHash('sha256').update(readFileSync(WASM_PATH)).digest('hex')).toBe(sum)
})
