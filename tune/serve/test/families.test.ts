/**
 * Each family's greedy answers against those of transformers, alone and all at once, with an adapter of its
 * own.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FAMILY_NAMES, parseModelConfig, partsOf } from '@cairn-tune/models'
import { byteLength, quantize, type Shape } from '@cairn-tune/ops'
import { startServer, type RunningServer } from '@cairn-tune/serve'
import type { Completion } from '@cairn-tune/serve/protocol'
import { createRandom, mergeAdapter, writeAdapter } from '@cairn-tune/train'
import { byteTokenizerFiles } from '@cairn-tune/train/byte-tokenizer'
import {
  decodeFloats,
  encodeFloats,
  linearsOf,
  matricesOf,
  mxfp4Tensors,
  openSafetensors,
  writeCheckpoint,
  type Safetensors,
  type TensorToWrite,
} from '@cairn-tune/weights'

const directory = mkdtempSync(join(tmpdir(), 'cairn-families-'))
afterAll(() => rmSync(directory, { recursive: true }))

type Golden = { config: Record<string, unknown>; greedy: { prompts: number[][]; answers: number[][] } }
const golden = new URL('../../models/test/golden/families/', import.meta.url)
const readGolden = (name: string) =>
  JSON.parse(readFileSync(new URL(`${name}.json`, golden), 'utf8')) as Golden

/** A family's golden model as a directory, in f32, so that an adapter is merged into it without rounding. */
async function writeGolden(name: string, model: string): Promise<void> {
  const { config } = readGolden(name)
  const file = await openSafetensors(fileURLToPath(new URL(`${name}.safetensors`, golden)))
  const weights = partsOf(parseModelConfig('config.json', config)).weights
  await mkdir(model)
  await writeCheckpoint(
    model,
    weights.flatMap(weight => {
      if (name === 'gpt_oss' && weight.shape.length === 3) return mxfp4Of(weight, file)
      const matrices = matricesOf(weight)
      return matrices.map(({ name: matrix, shape }, e) => ({
        name: matrix,
        dtype: 'F32' as const,
        shape,
        bytes: async () => {
          const values = decodeFloats('BF16', await file.read(weight.name))
          const size = values.length / matrices.length
          return encodeFloats('F32', values.subarray(e * size, (e + 1) * size))
        },
      }))
    }),
  )
  const files = { ...byteTokenizerFiles(), 'config.json': JSON.stringify(config) }
  for (const [path, text] of Object.entries(files)) await writeFile(join(model, path), text)
}

/** Experts of gpt-oss as they are distributed; the golden numbers are those that MXFP4 holds. */
function mxfp4Of({ name, shape }: { name: string; shape: Shape }, file: Safetensors): TensorToWrite[] {
  const whole = async () => quantize(decodeFloats('BF16', await file.read(name)), 'mxfp4', shape)
  return mxfp4Tensors(name, shape, new Uint8Array(byteLength('mxfp4', shape))).map((tensor, i) => ({
    ...tensor,
    dtype: 'U8',
    bytes: async () => mxfp4Tensors(name, shape, await whole())[i]?.bytes ?? new Uint8Array(),
  }))
}

async function writeRandomAdapter(path: string, config: Record<string, unknown>): Promise<void> {
  const { next } = createRandom(5)
  const { projections, modules } = partsOf(parseModelConfig('config.json', config))
  // Experts in MXFP4 are not merged with.
  const changed = projections.filter(
    ({ experts }) => config['model_type'] !== 'gpt_oss' || experts === undefined,
  )
  const matrix = (rows: number, columns: number) => ({
    shape: [rows, columns] as const,
    values: Float32Array.from({ length: rows * columns }, () => next() - 0.5),
  })
  await writeAdapter(
    path,
    { baseModel: '', lora_rank: 3, lora_alpha: 3, lora_dropout: 0, lora_target_modules: modules },
    changed.flatMap(projection =>
      linearsOf(projection).flatMap(name => [
        { name: `${name}.lora_A.weight`, ...matrix(3, projection.inputs) },
        { name: `${name}.lora_B.weight`, ...matrix(projection.outputs, 3) },
      ]),
    ),
  )
}

const serve = (model: string, adapter?: string) =>
  startServer({
    model,
    servedModelNames: ['base'],
    port: 0,
    threads: 1,
    dtype: 'f32',
    maxModelLen: 40,
    kvCacheBytes: 4 * 2 ** 20,
    ...(adapter ? { enableLora: true, maxLoraRank: 4, loraModules: { own: adapter } } : {}),
  })

async function complete(server: RunningServer, model: string, prompt: number[]): Promise<number[]> {
  const response = await fetch(`${server.url}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model,
      prompt,
      max_tokens: 16,
      temperature: 0,
      ignore_eos: true,
      return_token_ids: true,
    }),
    headers: { 'content-type': 'application/json' },
  })
  const reply = (await response.json()) as Completion
  expect(response.status, JSON.stringify(reply)).toBe(200)
  return reply.choices[0]?.token_ids ?? []
}

describe.each(FAMILY_NAMES)('%s', name => {
  const { config, greedy } = readGolden(name)
  const [model, adapter, merged] = ['', '-adapter', '-merged'].map(kind => join(directory, name + kind)) as [
    string,
    string,
    string,
  ]
  let server: RunningServer
  beforeAll(async () => {
    await writeGolden(name, model)
    await writeRandomAdapter(adapter, config)
    server = await serve(model, adapter)
  })
  afterAll(() => server.close())

  test('greedy tokens are those of transformers, one prompt after the other', async () => {
    for (const [i, prompt] of greedy.prompts.entries())
      expect(await complete(server, 'base', prompt), `prompt ${i}`).toEqual(greedy.answers[i])
  })

  test('the same in one batch with an adapter, whose answers are those of the merged model', async () => {
    await mergeAdapter({ base: model, adapter, output: merged })
    const alone = await serve(merged)
    try {
      const answers = await Promise.all(greedy.prompts.map(prompt => complete(alone, 'base', prompt)))
      expect(answers).not.toEqual(greedy.answers)
      const both = greedy.prompts.flatMap(prompt =>
        (['base', 'own'] as const).map(of => complete(server, of, prompt)),
      )
      expect(await Promise.all(both)).toEqual(answers.flatMap((own, i) => [greedy.answers[i], own]))
    } finally {
      await alone.close()
    }
  })
})
