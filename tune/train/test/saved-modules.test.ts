/**
 * Training of whole modules and of single tokens beside an adapter: five steps have PEFT's losses, norms and
 * weights (reference/make_saved_training.py), and added tokens get rows, a tokenizer and an adapter that
 * merges.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { readModelConfig } from '@cairn-tune/models'
import { mergeAdapter } from '@cairn-tune/train'
import { byteTokenizerFiles } from '@cairn-tune/train/byte-tokenizer'
import {
  decodeFloats,
  loadTokenizer,
  openCheckpoint,
  openSafetensors,
  readAdapter,
} from '@cairn-tune/weights'
import { createBench, losses } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const { text, runs } = JSON.parse(readFileSync(at('reference/saved/training.json'), 'utf8')) as {
  text: string
  runs: Record<string, { losses: number[]; norms: number[]; sums: Record<string, [number, number]> }>
}
const base = (kind: string) => join(bench.directory, kind)
for (const kind of ['tied', 'untied']) {
  cpSync(at(`../../serve/test/reference/saved/${kind}/base`), base(kind), { recursive: true })
  for (const [name, file] of Object.entries(byteTokenizerFiles())) writeFileSync(join(base(kind), name), file)
}
const settings = {
  dataset: bench.writeTexts('one', [text]),
  compute_dtype: 'f32',
  packing: false,
  per_device_train_batch_size: 1,
  gradient_accumulation_steps: 1,
  max_steps: 5,
  learning_rate: 0.01,
  lr_scheduler_type: 'constant',
  lora_rank: 4,
  lora_alpha: 8,
  lora_target_modules: 'q_proj,v_proj',
  threads: 1,
}
const OWN: Record<string, object> = {
  'tied-both': { modules_to_save: 'embed_tokens,lm_head' },
  'tied-tokens': { trainable_token_indices: '100,35,111' },
  'untied-both': { modules_to_save: 'embed_tokens,lm_head' },
  // PEFT compares the ends of names, so that its "norm" is every norm.
  'untied-norm': { modules_to_save: 'norm' },
  'untied-tokens': { trainable_token_indices: '100,35,111' },
}

/** Promise T4: Embeddings, head, norms and tokens that train beside an adapter follow PEFT. */
test.each(Object.keys(runs))('%s: losses, norms and weights of five steps match PEFT', async name => {
  const run = await bench.run({
    ...settings,
    ...OWN[name],
    model: base(name.split('-')[0] ?? ''),
    init_adapter: at(`reference/saved/${name}`),
  })
  const wanted = runs[name]!
  for (const [i, loss] of losses(run).entries()) {
    expect(Math.abs(loss - (wanted.losses[i] ?? NaN)), `loss ${i}`).toBeLessThan(1e-5 * loss)
    const norm = run.metrics[i]?.grad_norm ?? NaN
    expect(Math.abs(norm - (wanted.norms[i] ?? NaN)), `norm ${i}`).toBeLessThan(1e-4 * norm)
  }
  const file = await openSafetensors(join(run.output, 'adapter_model.safetensors'))
  expect([...file.tensors.keys()].toSorted()).toEqual(Object.keys(wanted.sums).toSorted())
  for (const [tensor, [sum, size]] of Object.entries(wanted.sums)) {
    const values = decodeFloats('F32', await file.read(tensor))
    const [a, b] = [values.reduce((x, y) => x + y, 0), values.reduce((x, y) => x + Math.abs(y), 0)]
    expect(Math.max(Math.abs(a - sum), Math.abs(b - size)), tensor).toBeLessThan(1e-3 * size)
  }
  await file.close()
})

/** Promise T4: A run can add tokens to its model, and its adapter merges with them. */
test.each([
  ['tied', ['<tool>']],
  ['untied', ['<a>', '<b>', '<c>', '<d>', '<e>', '<f>']],
])('%s: added tokens are trained, saved, and merged with their tokenizer', async (kind, tokens) => {
  const run = await bench.run({
    ...settings,
    model: base(kind),
    added_tokens: tokens.join(','),
    dataset: bench.writeTexts(`added-${kind}`, [`Ana ${tokens.join(' are ')} mere`]),
    max_steps: 8,
  })
  expect(losses(run).at(-1)).toBeLessThan(0.9 * (losses(run)[0] ?? NaN))
  const tokenizer = await loadTokenizer(run.output)
  const ids = tokens.map(token => tokenizer.idOf(token) ?? -1)
  expect(tokenizer.encode(`a${tokens[0]}`)).toEqual([100, ids[0]])
  const output = join(bench.directory, `${kind}-added`)
  await mergeAdapter({ base: base(kind), adapter: run.output, output })
  const { vocab_size: size, tie_word_embeddings: isTied } = await readModelConfig(output)
  expect([size, isTied]).toEqual([Math.max(264, 1 + Math.max(...ids)), kind === 'tied'])
  // transformers refuses the integer 0 for some of the keys whose value is a fraction.
  expect(readFileSync(join(output, 'config.json'), 'utf8')).toContain('"attention_dropout": 0.0,')
  expect((await loadTokenizer(output)).idOf(tokens[0] ?? '')).toBe(ids[0])
  const [before, after] = [await openCheckpoint(base(kind)), await openCheckpoint(output)]
  const name = 'model.embed_tokens.weight'
  // Only rows of the new tokens differ.
  const width = 2 * 16
  const [old, now] = [await before.read(name), await after.read(name)]
  const changed = Array.from({ length: size }, (_, i) => i).filter(
    i =>
      Buffer.compare(old.subarray(i * width, (i + 1) * width), now.subarray(i * width, (i + 1) * width)) !==
      0,
  )
  expect(changed).toEqual(ids)
  expect((await readAdapter(run.output)).changes.length).toBeGreaterThan(0)
})

test.each([
  [{ modules_to_save: 'q_proj' }, 'modules_to_save: q_proj is a projection, which gets an adapter'],
  [{ modules_to_save: 'wte' }, 'is a llama model without wte; it has embed_tokens'],
  [{ trainable_token_indices: '5,300' }, 'has 264 tokens, and no token 300'],
  [{ trainable_token_indices: '5,5' }, 'a token is named twice'],
  [
    { trainable_token_indices: '5', modules_to_save: 'embed_tokens' },
    'modules_to_save already trains all rows of embed_tokens',
  ],
  [{ added_tokens: '<|im_end|>' }, 'already has "<|im_end|>"; name its id in trainable_token_indices'],
  [{ added_tokens: '<a>,<a>' }, 'names "<a>" twice'],
  [{ modules_to_save: 'norm', offload: 'disk' }, 'modules_to_save: not available with offload: disk'],
  [{ modules_to_save: 'norm', lora: false, lora_target_modules: undefined }, 'already trains every weight'],
])('refuses %j', async (keys, message) => {
  await expect(bench.run({ ...settings, model: base('untied'), ...keys })).rejects.toThrow(message)
})
