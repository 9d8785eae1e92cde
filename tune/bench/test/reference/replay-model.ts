/**
 * The model whose answers to the harness are recorded: a random Qwen3 and an adapter for it, the same bits on
 * every machine, that write what looks like worked solutions.
 *
 * Its tokenizer knows the bytes, as every new model's does, and pieces of solutions that no text is cut into;
 * the head prefers those, so that answers have numbers for the filters to find.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configJsonText, partsOf } from '@cairn-tune/models'
import {
  configJsonOfShape,
  configOfShape,
  createRandom,
  writeAdapter,
  type AdapterTensor,
} from '@cairn-tune/train'
import { BYTE_VOCABULARY, byteTokenizerFiles } from '@cairn-tune/train/byte-tokenizer'
import { encodeFloats, writeCheckpoint } from '@cairn-tune/weights'

const untied = { tie_word_embeddings: false }
const config = configOfShape('tiny', untied)

/** After the bytes, in the order of their ids. The ids behind them have no text and end an answer. */
const PIECES = [
  '\n#### ',
  '\n#### 4',
  ' #### -',
  '#### $',
  ' #### 1,',
  '\n\n',
  ' = ',
  ' + ',
  ' * ',
  ' - ',
  ' 12',
  '77',
  '305',
  '1,',
  '000',
  '24',
  '.5',
  '. ',
  '83',
  '46',
  ' lei',
  ' de mere',
  ' Rămân',
  ' pomi',
  ' în total',
  ' covrigi',
  ' Apoi',
  ' the',
  ' so',
  ' apples',
  ' dollars',
  ' ș',
  ' Question',
  'Question:',
  '60',
  ' 9',
  '88',
  ' $',
  ' so it is',
  '19',
  '52',
] as const
const firstEnd = BYTE_VOCABULARY + PIECES.length
export const END_TOKENS = Array.from({ length: 2 }, (_, i) => firstEnd + i)

/** How readily the head writes a token: pieces before visible ASCII, other bytes never. */
function readiness(token: number): number {
  const byte = token - (BYTE_VOCABULARY - 256)
  if (token >= BYTE_VOCABULARY) return token < firstEnd + END_TOKENS.length ? 1 : 0
  return byte >= 0x20 && byte < 0x7f ? 0.6 : 0
}

/** Even noise; the norms around one. Sums, products and divisions only, which every machine rounds alike. */
function noise(name: string, [rows = 1, columns = 1]: readonly number[], seed: number): Float32Array {
  const { next } = createRandom(seed, ...new TextEncoder().encode(name))
  const size = name.includes('embed') || name.includes('lm_head') ? 0.5 : 0.25
  return Float32Array.from({ length: rows * columns }, (_, i) => {
    const even = 2 * next() - 1
    if (name.includes('norm')) return 1 + even / 2
    return size * even * (name.startsWith('lm_head') ? readiness(Math.floor(i / columns)) : 1)
  })
}

function tokenizerFiles(): Record<string, string> {
  const files = byteTokenizerFiles()
  const tokenizer = JSON.parse(files['tokenizer.json'] ?? '') as { model: { vocab: Record<string, number> } }
  const signs = new Map(
    Object.entries(tokenizer.model.vocab).map(([sign, id]) => [id - (BYTE_VOCABULARY - 256), sign]),
  )
  for (const [i, piece] of PIECES.entries())
    tokenizer.model.vocab[[...new TextEncoder().encode(piece)].map(byte => signs.get(byte)).join('')] =
      BYTE_VOCABULARY + i
  return { ...files, 'tokenizer.json': JSON.stringify(tokenizer) }
}

const SEED = 11
const RANK = 8
const MODULES = ['q_proj', 'v_proj', 'o_proj', 'up_proj', 'down_proj'] as const

/** Writes `base` and `adapter` below a directory. */
export async function writeReplayModel(directory: string): Promise<{ base: string; adapter: string }> {
  const paths = { base: join(directory, 'base'), adapter: join(directory, 'adapter') }
  const weights = partsOf(config).weights
  await Promise.all(Object.values(paths).map(path => mkdir(path, { recursive: true })))
  await writeCheckpoint(
    paths.base,
    weights.map(({ name, shape }) => ({
      name,
      dtype: 'BF16',
      shape,
      bytes: () => encodeFloats('BF16', noise(name, shape, SEED)),
    })),
  )
  const files = {
    ...tokenizerFiles(),
    'config.json': configJsonText(configJsonOfShape('tiny', untied)),
    'generation_config.json': JSON.stringify({ eos_token_id: END_TOKENS }),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(paths.base, name), text)
  const linears = weights.filter(({ name }) => MODULES.some(module => name.endsWith(`${module}.weight`)))
  const tensors = linears.flatMap(({ name, shape: [outputs = 0, inputs = 0] }): AdapterTensor[] => {
    const linear = name.slice(0, -'.weight'.length)
    return (
      [
        ['A', [RANK, inputs]],
        ['B', [outputs, RANK]],
      ] as const
    ).map(([side, shape]) => ({
      name: `${linear}.lora_${side}.weight`,
      shape: [...shape],
      values: noise(`${linear}.${side}`, shape, SEED),
    }))
  })
  await writeAdapter(
    paths.adapter,
    { baseModel: 'replay', lora_rank: RANK, lora_alpha: RANK, lora_dropout: 0, lora_target_modules: MODULES },
    tensors,
  )
  return paths
}

export const MODELS = ['base', 'adapter'] as const

/** Starts the server as the specification's evaluation does, in f32. */
export const serveArguments = ({ base, adapter }: { base: string; adapter: string }): string[] => [
  base,
  '--served-model-name',
  'base',
  '--dtype',
  'f32',
  '--max-model-len',
  '2048',
  '--max-lora-rank',
  '64',
  '--enable-lora',
  '--lora-modules',
  `adapter=${adapter}`,
  '--port',
  '0',
  '--threads',
  '1',
  '--kv-cache-memory',
  '64MiB',
]

/** A request of the harness, and what matters of the answer it got. */
export type Recorded = {
  method: string
  path: string
  headers: Record<string, string>
  body: { model: string; prompt: string } & Record<string, unknown>
  status: number
  text: string
  finish_reason: string
  usage: [prompt: number, completion: number]
}

export type Recording = {
  models: Record<
    string,
    {
      results: Record<string, number>
      judged: { index: number; filter: string; extracted: string; is_right: boolean }[]
    }
  >
  /** Besides completions; without a body. */
  asked: { method: string; path: string; status: number }[]
  requests: Recorded[]
}
