/** A model exported to GGUF is the model: it serves the same answers and trains the same adapters. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readModelConfig } from '@cairn-tune/models'
import { loadAddon } from '@cairn-tune/native'
import { startServer } from '@cairn-tune/serve'
import { mergeAdapter, readConfig, train, writeNewModel } from '@cairn-tune/train'
import { copyCompanions } from '@cairn-tune/train/merge'
import {
  decodeFloats,
  encodeFloats,
  loadTokenizer,
  openMappedCheckpoint,
  writeCheckpoint,
} from '@cairn-tune/weights'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportRun } from '../src/commands/export.ts'

let directory: string
const at = (name: string) => join(directory, name)
const signal = new AbortController().signal

async function exportTo(output: string, ...args: string[]): Promise<{ out: string; notes: string[] }> {
  const said = { out: '', notes: [] as string[] }
  const code = await exportRun.run([...args, '--format', 'gguf', '--output', at(output)], {
    env: { HF_HUB_OFFLINE: '1' },
    out: text => void (said.out += text),
    note: line => void said.notes.push(line),
    terminal: undefined,
    signal,
  })
  expect(code).toBe(0)
  return said
}

// A fresh clone compiles the kernels first, which takes longer than the hook timeout.
await loadAddon()
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-gguf-'))
  await writeNewModel(at('tiny'), 'tiny', 1)
  await writeFile(at('data.jsonl'), '{"text": "one and one is two, two and two is four"}\n'.repeat(8))
  await exportTo('tiny.gguf', at('tiny'))
})
afterAll(() => rm(directory, { recursive: true }))

test('the file has the config, weights and tokenizer of the directory', async () => {
  expect(await readModelConfig(at('tiny.gguf'))).toEqual(await readModelConfig(at('tiny')))
  const [own, from] = [await openMappedCheckpoint(at('tiny.gguf')), await openMappedCheckpoint(at('tiny'))]
  expect([...own.tensors.keys()].toSorted()).toEqual([...from.tensors.keys()].toSorted())
  for (const [name, { dtype, shape }] of from.tensors) {
    expect(own.tensors.get(name)).toMatchObject({ shape, dtype: shape.length === 1 ? 'F32' : dtype })
    if (shape.length > 1) expect(await own.read(name)).toEqual(await from.read(name))
  }
  const [tokenizer, expected] = [await loadTokenizer(at('tiny.gguf')), await loadTokenizer(at('tiny'))]
  const chat = {
    messages: [
      { role: 'user', content: 'Câte?\n' },
      { role: 'assistant', content: ' 12' },
    ],
  }
  expect(tokenizer.encodeChat(chat)).toEqual(expected.encodeChat(chat))
  expect(tokenizer.eosTokenId).toBe(expected.eosTokenId)
})

async function answer(model: string, dtype?: 'f32'): Promise<unknown> {
  const server = await startServer({
    model,
    servedModelNames: ['m'],
    port: 0,
    threads: 1,
    kvCacheBytes: 2 ** 22,
    maxModelLen: 64,
    ...(dtype && { dtype }),
  })
  try {
    const ask = async (path: string, body: object) => {
      const response = await fetch(`${server.url}/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', max_tokens: 12, temperature: 0, ignore_eos: true, ...body }),
      })
      return ((await response.json()) as { choices: unknown }).choices
    }
    return [
      await ask('completions', { prompt: 'one and one', logprobs: 1 }),
      await ask('chat/completions', { messages: [{ role: 'user', content: 'Hi' }], logprobs: true }),
    ]
  } finally {
    await server.close()
  }
}

/** Promise T3.4: A model exported to GGUF serves and trains identically to the last bit. */
test('the file serves the same completions and chats with bit-identical log-probabilities', async () => {
  expect(await answer(at('tiny.gguf'))).toEqual(await answer(at('tiny')))
})

test.each(['bf16', 'qbnb'])('%s: the file trains a bit-identical adapter', async recipe => {
  const run = async (model: string) => {
    const settings = {
      model,
      recipe,
      dataset: at('data.jsonl'),
      output_dir: `${model}-${recipe}`,
      max_seq_length: 64,
      max_steps: 3,
      learning_rate: 1e-2,
    }
    const flags = Object.entries(settings).map(([key, value]) => `--${key}=${value}`)
    await train(readConfig({ flags }), { threads: 1 })
    return readFileSync(join(settings.output_dir, 'adapter', 'adapter_model.safetensors'))
  }
  expect(Buffer.compare(await run(at('tiny.gguf')), await run(at('tiny')))).toBe(0)
})

test('its adapter merges and is exported again; a Q8_0 file trains and serves', async () => {
  await mergeAdapter({ base: at('tiny.gguf'), adapter: at('tiny.gguf-bf16/adapter'), output: at('merged') })
  await mergeAdapter({ base: at('tiny'), adapter: at('tiny-bf16/adapter'), output: at('expected') })
  const [own, expected] = [
    await openMappedCheckpoint(at('merged')),
    await openMappedCheckpoint(at('expected')),
  ]
  const name = 'model.layers.1.mlp.down_proj.weight'
  expect(await own.read(name)).toEqual(await expected.read(name))
  await exportTo('merged.gguf', at('merged'), '--type', 'q8_0')
  expect((await openMappedCheckpoint(at('merged.gguf'))).tensors.get(name)).toMatchObject({
    dtype: 'F32',
    decodedFrom: 'Q8_0',
  })
  await answer(at('merged.gguf'))
  await exportTo('adapter.gguf', at('tiny.gguf-bf16/adapter'))
  expect(existsSync(at('adapter.gguf'))).toBe(true)
  // Weights whose type safetensors cannot store become bf16.
  await mergeAdapter({ base: at('merged.gguf'), adapter: at('tiny-bf16/adapter'), output: at('again') })
  expect((await openMappedCheckpoint(at('again'))).tensors.get(name)).toMatchObject({ dtype: 'BF16' })
})

/** The model of a GGUF file as a safetensors directory, in f32. */
async function writeDirectory(from: string, to: string): Promise<void> {
  const checkpoint = await openMappedCheckpoint(from)
  await mkdir(to)
  await writeCheckpoint(
    to,
    [...checkpoint.tensors.values()].map(({ name, dtype, shape }) => ({
      name,
      dtype: 'F32',
      shape,
      bytes: async () => encodeFloats('F32', decodeFloats(dtype as 'F32', await checkpoint.read(name))),
    })),
  )
  await copyCompanions(from, to)
}

test.each(['llama', 'qwen2'])(
  '%s: a file written by the gguf package serves the same answers as its weights in a directory and ' +
    'survives an export',
  async arch => {
    const golden = fileURLToPath(new URL(`../../weights/test/reference/gguf/${arch}.gguf`, import.meta.url))
    await writeDirectory(golden, at(arch))
    const expected = await answer(at(arch), 'f32')
    expect(await answer(golden, 'f32')).toEqual(expected)
    await exportTo(`${arch}.gguf`, at(arch))
    expect(await answer(at(`${arch}.gguf`), 'f32')).toEqual(expected)
  },
)

test('rejects layers with a window by name, as llama.cpp has none in that architecture', async () => {
  const golden = fileURLToPath(new URL('../../weights/test/reference/gguf/llama.gguf', import.meta.url))
  await writeDirectory(golden, at('windowed'))
  const path = join(at('windowed'), 'config.json')
  const json = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
  await writeFile(path, JSON.stringify({ ...json, model_type: 'mistral', sliding_window: 32 }))
  await expect(exportTo('windowed.gguf', at('windowed'))).rejects.toThrow(
    'windowed: has layers with an attention window of 32 tokens; in a GGUF file of llama every layer attends to all tokens',
  )
  await writeFile(path, JSON.stringify({ ...json, model_type: 'mistral', sliding_window: null }))
  await exportTo('mistral.gguf', at('windowed'))
})
