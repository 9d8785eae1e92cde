/** Adapters whose files do not fit the model: each is rejected by name and changes no other adapter. */
import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Completion } from '@cairn-tune/serve/protocol'
import { openSafetensors, writeSafetensors, type TensorToWrite } from '@cairn-tune/weights'
import { writeRandomAdapter } from '../random-model.ts'
import { openFixture } from '../server-fixture.ts'
import { attempts, tally } from './attacks.ts'

const SLOTS = 3
const server = await openFixture({ maxLoras: SLOTS, maxCpuLoras: SLOTS })
afterAll(() => server.close())
const at = (name: string) => join(server.directory, name)

const Q = 'base_model.model.model.layers.0.self_attn.q_proj'
const VECTOR = `${Q}.lora_magnitude_vector`

type Config = Record<string, unknown>
type Files = { tensors: TensorToWrite[]; config: Config }
type Change = (files: Files) => void

await writeRandomAdapter(at('sound'), { rank: 4, modules: ['q_proj', 'v_proj'], seed: 5, use_dora: true })
const sound = await readFiles('sound')

async function readFiles(name: string): Promise<Files> {
  const file = await openSafetensors(join(at(name), 'adapter_model.safetensors'))
  const tensors: TensorToWrite[] = []
  for (const { name: tensor, dtype, shape } of file.tensors.values())
    tensors.push({ name: tensor, dtype, shape, bytes: await file.read(tensor) })
  await file.close()
  const config = JSON.parse(await readFile(join(at(name), 'adapter_config.json'), 'utf8')) as Config
  return { tensors, config }
}

async function writeChanged(name: string, change: Change): Promise<string> {
  const files = { tensors: sound.tensors.map(tensor => ({ ...tensor })), config: { ...sound.config } }
  change(files)
  await mkdir(at(name), { recursive: true })
  await writeSafetensors(join(at(name), 'adapter_model.safetensors'), files.tensors)
  await writeFile(join(at(name), 'adapter_config.json'), JSON.stringify(files.config))
  return at(name)
}

const zeros = (shape: readonly number[], width = 4) =>
  new Uint8Array(shape.reduce((product, size) => product * size, 1) * width)
const shaped =
  (name: string, shape: readonly number[]): Change =>
  ({ tensors }) => {
    const found = tensors.find(tensor => tensor.name === name)
    if (!found) throw new Error(`the adapter has no ${name}`)
    Object.assign(found, { shape, bytes: zeros(shape) })
  }
const added =
  (name: string, shape: readonly number[] = [64], dtype: TensorToWrite['dtype'] = 'F32'): Change =>
  ({ tensors }) =>
    void tensors.push({ name, dtype, shape, bytes: zeros(shape, dtype === 'I64' ? 8 : 4) })
const removed =
  (name: string): Change =>
  ({ tensors }) =>
    void tensors.splice(
      tensors.findIndex(tensor => tensor.name === name),
      1,
    )
const configured =
  (keys: Config): Change =>
  ({ config }) =>
    void Object.assign(config, keys)
const filled =
  (name: string, value: number): Change =>
  ({ tensors }) => {
    const found = tensors.find(tensor => tensor.name === name)
    const values = new Float32Array((found?.shape ?? []).reduce((product, size) => product * size, 1))
    Object.assign(found ?? {}, { bytes: new Uint8Array(values.fill(value).buffer) })
  }

const outputs = sound.tensors.find(({ name }) => name === VECTOR)?.shape[0] ?? 0
const inputs = sound.tensors.find(({ name }) => name === `${Q}.lora_A.weight`)?.shape[1] ?? 0
const vectorMessage = (length: number) => `lora_magnitude_vector has shape (${length}), expected (${outputs})`

const REFUSED: Record<string, [change: Change, message: string]> = {
  'a DoRA vector of twice the length': [shaped(VECTOR, [2 * outputs]), vectorMessage(2 * outputs)],
  'a DoRA vector of half the length': [shaped(VECTOR, [outputs / 2]), vectorMessage(outputs / 2)],
  'an empty DoRA vector': [shaped(VECTOR, [0]), vectorMessage(0)],
  'a DoRA vector that is longer than all slots': [
    shaped(VECTOR, [100 * SLOTS * outputs]),
    vectorMessage(100 * SLOTS * outputs),
  ],
  'a DoRA vector of two dimensions': [shaped(VECTOR, [1, outputs]), 'expected one dimension'],
  'a DoRA vector of no dimension': [shaped(VECTOR, []), 'expected one dimension'],
  'a DoRA vector without its matrices': [
    added('base_model.model.model.layers.0.mlp.up_proj.lora_magnitude_vector'),
    'has no "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight"',
  ],
  'matrices without their DoRA vector': [removed(VECTOR), 'has no'],
  'DoRA vectors that the configuration does not name': [configured({ use_dora: false }), 'not a matrix'],
  'a DoRA vector with NaN': [filled(VECTOR, NaN), 'non-finite'],
  'a matrix with infinity': [filled(`${Q}.lora_B.weight`, -Infinity), 'non-finite'],
  'A of other inputs': [shaped(`${Q}.lora_A.weight`, [4, inputs + 1]), `expected (4, ${inputs})`],
  'B of other outputs': [shaped(`${Q}.lora_B.weight`, [outputs * 9, 4]), `expected (${outputs}, 4)`],
  'A and B transposed': [
    files => {
      shaped(`${Q}.lora_A.weight`, [inputs, 4])(files)
      shaped(`${Q}.lora_B.weight`, [4, outputs])(files)
    },
    'expected rank 4',
  ],
  'A of one dimension': [shaped(`${Q}.lora_A.weight`, [4 * inputs]), 'expected rank 4'],
  'A of three dimensions': [shaped(`${Q}.lora_A.weight`, [4, inputs, 1]), 'expected rank 4'],
  'A of rank 0': [shaped(`${Q}.lora_A.weight`, [0, inputs]), 'expected rank 4'],
  'A without B': [removed(`${Q}.lora_B.weight`), 'has no'],
  'B of another rank than A': [shaped(`${Q}.lora_B.weight`, [outputs, 5]), 'expected rank 4'],
  'a configuration that names a smaller rank': [configured({ r: 3 }), 'expected rank 3'],
  'a configuration that names a larger rank': [configured({ r: 16 }), 'expected rank 16'],
  'a pattern that names another rank': [configured({ rank_pattern: { q_proj: 8 } }), 'expected rank 8'],
  'a pattern of a broken rank': [configured({ rank_pattern: { q_proj: 4.5 } }), 'expected rank 4.5'],
  'rank 0': [configured({ r: 0 }), 'r'],
  'alpha that is no number': [
    configured({ lora_alpha: '8' }),
    'lora_alpha is "8", expected a positive number',
  ],
  'a rank above the maximum': [
    files => {
      files.config['r'] = 17
      for (const tensor of files.tensors) {
        const [rows = 0, columns = 0] = tensor.shape
        if (tensor.name.endsWith('lora_A.weight')) shaped(tensor.name, [17, columns])(files)
        if (tensor.name.endsWith('lora_B.weight')) shaped(tensor.name, [rows, 17])(files)
      }
    },
    'LoRA rank 17 is greater than max_lora_rank 16',
  ],
  'a matrix of integers': [
    files => {
      removed(`${Q}.lora_A.weight`)(files)
      added(`${Q}.lora_A.weight`, [4, inputs], 'I64')(files)
    },
    'must have dtype',
  ],
  'a vector of integers': [
    files => {
      removed(VECTOR)(files)
      added(VECTOR, [outputs], 'I64')(files)
    },
    'must have dtype',
  ],
  'a bias of a linear': [added(`${Q}.bias`), 'not a matrix'],
  'a bias of an adapter': [added(`${Q}.lora_B.bias`), 'not a matrix'],
  'a configuration with a bias': [configured({ bias: 'all' }), 'bias'],
  'a configuration with a bias of B': [configured({ lora_bias: true }), 'lora_bias'],
  'a module to save': [added('base_model.model.lm_head.modules_to_save.weight', [8, 8]), 'not a matrix'],
  'a configuration with modules to save': [configured({ modules_to_save: ['lm_head'] }), 'modules_to_save'],
  'embeddings of another width': [
    added('base_model.model.model.embed_tokens.weight', [300, 3]),
    'trained on another base',
  ],
  'embeddings of more tokens than its head': [
    added('base_model.model.model.embed_tokens.weight', [300, inputs]),
    'embeddings of 300 tokens, but a head of',
  ],
  'a norm of another size': [
    files => {
      configured({ modules_to_save: ['norm'] })(files)
      added('base_model.model.model.norm.weight', [3])(files)
    },
    'trained on another base',
  ],
  'trained tokens without their ids': [
    added('base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta', [2, inputs]),
    'no trainable_token_indices',
  ],
  'a trained token that the base does not have': [
    files => {
      configured({ trainable_token_indices: [0, 9999] })(files)
      added('base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta', [2, inputs])(files)
    },
    'changes token 9999',
  ],
  'embeddings of an adapter': [
    added('base_model.model.model.embed_tokens.lora_embedding_A', [4, 8]),
    'has one of the two LoRA matrices of model.embed_tokens.weight',
  ],
  'a linear that the model does not have': [
    files => {
      added('base_model.model.model.layers.99.self_attn.q_proj.lora_A.weight', [4, inputs])(files)
      added('base_model.model.model.layers.99.self_attn.q_proj.lora_B.weight', [outputs, 4])(files)
      added('base_model.model.model.layers.99.self_attn.q_proj.lora_magnitude_vector', [outputs])(files)
    },
    'adapts a linear that the base model does not have',
  ],
  'experts that the model does not have': [
    files => {
      const stem = 'base_model.model.model.layers.0.mlp.experts'
      Object.assign(files.config, { use_dora: false, target_parameters: ['mlp.experts.down_proj'], r: 1 })
      files.tensors.length = 0
      added(`${stem}.lora_A.weight`, [300_000, 1])(files)
      added(`${stem}.lora_B.weight`, [1, 300_000])(files)
    },
    '300000 experts, expected 0',
  ],
  'no tensors': [files => void (files.tensors.length = 0), 'has no tensors'],
  'a file that is larger than any adapter of the model': [
    // More than twice the maximum length of a header; only the test's memory is sparse.
    added(`${Q}.large`, [30_000_000]),
    'adapters of this base model have at most',
  ],
}

const load = (lora_name: string, lora_path: string) =>
  server.post('/v1/load_lora_adapter', { lora_name, lora_path })
const unload = (lora_name: string) => server.post('/v1/unload_lora_adapter', { lora_name })
async function logprobs(model: string): Promise<unknown> {
  const reply = await server.post('/v1/completions', {
    model,
    prompt: 'Ana are mere',
    max_tokens: 8,
    temperature: 0,
    ignore_eos: true,
    logprobs: 2,
    echo: true,
  })
  expect(reply.status, model).toBe(200)
  return (reply.body as Completion).choices[0]?.logprobs
}
const messageOf = (reply: { body: never }) =>
  (reply.body as { error?: { message?: string } }).error?.message ?? ''

let tried = 0
let unexpected = 0
afterAll(() => tally('adapters that do not fit', tried, unexpected))

/** Promise T6.5: An adapter that does not fit is rejected by tensor and shape and changes no other answer. */
test('rejects an adapter that does not fit by tensor and shape, and no answer changes', async () => {
  const before = {
    base: await logprobs('base'),
    wide: await logprobs('wide'),
    narrow: await logprobs('narrow'),
  }
  const wrong: string[] = []
  for (let round = 0; round < attempts(1, 5); round++)
    for (const [name, [change, message]] of Object.entries(REFUSED)) {
      const reply = await load('bad', await writeChanged('bad', change))
      tried++
      if (reply.status === 400 && messageOf(reply).includes(message)) continue
      unexpected++
      wrong.push(`${name}: ${reply.status} ${messageOf(reply)}`)
      if (reply.status === 200) await unload('bad')
    }
  expect(wrong).toEqual([])
  const after = {
    base: await logprobs('base'),
    wide: await logprobs('wide'),
    narrow: await logprobs('narrow'),
  }
  expect(after).toEqual(before)
  // Every slot can still be used by another adapter.
  expect((await load('third', at('sound'))).status).toBe(200)
  await Promise.all(['wide', 'narrow', 'third'].map(logprobs))
  expect((await unload('third')).status).toBe(200)
})

/** Promise T6.5: An adapter that failed to load occupies no slot. */
test('a slot is free after its adapter failed to load', async () => {
  // Every number is finite, but the row lengths of W + BA are not, which is detected while writing.
  await writeChanged('huge', files => {
    filled(`${Q}.lora_A.weight`, 1e30)(files)
    filled(`${Q}.lora_B.weight`, 1e30)(files)
  })
  const before = await logprobs('wide')
  for (let round = 0; round < attempts(2 * SLOTS, 20 * SLOTS); round++) {
    const reply = await load('huge', at('huge'))
    tried++
    expect([reply.status, messageOf(reply)]).toEqual([400, expect.stringContaining('must be finite')])
  }
  expect((await load('third', at('sound'))).status).toBe(200)
  await Promise.all(['wide', 'narrow', 'third'].map(logprobs))
  expect(await logprobs('wide')).toEqual(before)
  expect((await unload('third')).status).toBe(200)
})

test('a named pipe instead of an adapter’s file does not block the server', async () => {
  for (const file of ['adapter_config.json', 'adapter_model.safetensors']) {
    await writeChanged(`pipe-${file}`, () => undefined)
    execFileSync('rm', [join(at(`pipe-${file}`), file)])
    execFileSync('mkfifo', [join(at(`pipe-${file}`), file)])
    const reply = await load('pipe', at(`pipe-${file}`))
    tried++
    expect([reply.status, messageOf(reply)]).toEqual([expect.any(Number), expect.stringContaining('pipe')])
    expect(reply.status).toBeLessThan(500)
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
  }
})
