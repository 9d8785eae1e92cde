import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadTokenizer } from './tokenizer.ts'

type Case = {
  files: Record<string, object | null>
  ids: number[]
  text: string
  without: string
  roles: (number | null)[]
  size: number
}
/** Written by test/reference/make_special_tokens.py. */
const golden = JSON.parse(
  await readFile(new URL('../test/reference/special-tokens.json', import.meta.url), 'utf8'),
) as { tokenizer: object; text: string; cases: Record<string, Case> }

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'cairn-special-'))
})
afterAll(() => rm(root, { recursive: true }))

async function modelOf(files: Record<string, object | null>): Promise<string> {
  const directory = await mkdtemp(join(root, 'model-'))
  for (const [name, value] of Object.entries({ 'tokenizer.json': golden.tokenizer, ...files }))
    if (value !== null) await writeFile(join(directory, name), JSON.stringify(value))
  return directory
}

test.each(Object.entries(golden.cases))(
  'tokens of the files equal those of transformers: %s',
  async (_, one) => {
    const tokenizer = await loadTokenizer(await modelOf(one.files))
    const ids = tokenizer.encodeDocument(golden.text)
    expect({
      ids,
      text: tokenizer.decode(ids),
      without: tokenizer.decode(ids, { skipSpecialTokens: true }),
      roles: [tokenizer.bosTokenId, tokenizer.eosTokenId, tokenizer.padTokenId].map(id => id ?? null),
      size: tokenizer.vocabSize,
    }).toEqual({ ids: one.ids, text: one.text, without: one.without, roles: one.roles, size: one.size })
  },
)

test('the end token is that of generation_config.json or config.json if the tokenizer names none', async () => {
  const endOf = async (files: Record<string, object>) =>
    (await loadTokenizer(await modelOf(files))).eosTokenId
  const generation = { 'generation_config.json': { eos_token_id: [9999, 256] } }
  const config = { 'config.json': { eos_token_id: 257 } }
  expect(await endOf({})).toBeUndefined()
  expect(await endOf(config)).toBe(257)
  expect(await endOf({ ...config, ...generation })).toBe(256)
  expect(await endOf({ ...config, 'tokenizer_config.json': { eos_token: 'b' } })).toBe(65)
})

test('refuses an added token whose id is not the one that the library assigns', async () => {
  const files = { 'added_tokens.json': { '<tool>': 300 } }
  await expect(loadTokenizer(await modelOf(files))).rejects.toThrow(
    'the added token "<tool>" has id 300 in the file, but 258 in Hugging Face\'s tokenizers',
  )
})

test('refuses dropout and parts that the library does not have, by name', async () => {
  const load = async (change: object) =>
    loadTokenizer(await modelOf({ 'tokenizer.json': { ...golden.tokenizer, ...change } }))
  await expect(load({ normalizer: { type: 'Sequence', normalizers: [{ type: 'NFG' }] } })).rejects.toThrow(
    'normalizer "NFG" is not known; known: BertNormalizer, ',
  )
  const { model } = golden.tokenizer as { model: object }
  await expect(load({ model: { ...model, dropout: 0.1 } })).rejects.toThrow('model.dropout is 0.1')
})
