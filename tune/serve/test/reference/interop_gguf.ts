/**
 * llama.cpp beside `serve` on exported files: node interop_gguf.ts INSTALL [MODEL [ADAPTER]], where INSTALL
 * is a directory with node-llama-cpp in its node_modules (npm install --ignore-scripts node-llama-cpp; its
 * packages bring llama.cpp built). Without MODEL a random one and two adapters for it are made. The model is
 * written anew in f32 (what is in MXFP4 stays), exported, merged with the adapter and exported, and the
 * adapter is exported; of each file llama.cpp continues the prompts greedily, and `serve` in f32 does the
 * same. A MODEL is asked twenty texts, and their ids are compared too; where it is a GGUF file, llama.cpp
 * runs that as well.
 *
 * Where two continuations part, each side must have the other's token less than TIE behind its own; then
 * both go on from llama.cpp's token. Exit code 1 where they part otherwise.
 */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readModelConfig } from '@cairn-tune/models'
import { startServer } from '@cairn-tune/serve'
import { copyCompanions, mergeAdapter } from '@cairn-tune/train/merge'
import {
  decodeFloats,
  encodeFloats,
  loadTokenizer,
  openCheckpoint,
  writeCheckpoint,
  type ModelTokenizer,
} from '@cairn-tune/weights'
import { isGgufPath } from '@cairn-tune/weights/gguf/gguf-file'
import { ADAPTERS, writeRandomAdapter, writeRandomModel } from '../random-model.ts'
import { TOKENS, compare, type Continuations, type Generate } from './interop_ties.ts'

const QUESTIONS = [
  'What is the capital of France?',
  'Write a short poem about the sea.',
  'Explain in two sentences why the sky is blue.',
  'List three uses of a brick.',
  'How many days are in a leap year?',
  'Translate "good morning" into Spanish.',
  'What is 17 + 25?',
  'Give me a Python function that reverses a list.',
  'Who wrote "Romeo and Juliet"?',
  'Care este capitala României?',
]
const BEGINNINGS = [
  'Once upon a time, in a small village',
  'The three laws of motion are',
  'def fibonacci(n):\n    """',
  'In 1969, two men walked on',
  'Water boils at 100°C because',
  'Ana are 12 mere și îi dă lui Dan 5. Câte mere',
  '1, 1, 2, 3, 5, 8,',
  'SELECT name, COUNT(*) FROM users WHERE',
  'The quick brown fox',
  'Dear Sir or Madam,\n\nI am writing to',
]
const PROMPTS = 20
/** llama.cpp multiplies what is stored in blocks by activations that it has rounded to 8 bits. */
const ROUNDED = 0.1

const [install, given, givenAdapter] = process.argv.slice(2)
if (!install) throw new Error('usage: interop_gguf.ts DIRECTORY_WITH_NODE_LLAMA_CPP [MODEL [ADAPTER]]')
const directory = await mkdtemp(join(tmpdir(), 'cairn-gguf-judge-'))
const at = (name: string) => join(directory, name)
const cli = fileURLToPath(new URL('../../../cli/src/main.ts', import.meta.url))
const run = (...args: string[]) =>
  execFileSync(process.execPath, [cli, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })

/** The same numbers in f32, so that neither side rounds. */
async function writeF32(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  const checkpoint = await openCheckpoint(from)
  await writeCheckpoint(
    to,
    [...checkpoint.tensors.values()].map(({ name, dtype, shape }) => ({
      name,
      dtype: dtype === 'U8' ? dtype : 'F32',
      shape,
      bytes: async () => {
        const stored = await checkpoint.read(name)
        return dtype === 'U8' ? stored : encodeFloats('F32', decodeFloats(dtype as 'BF16', stored))
      },
    })),
  )
  await checkpoint.close()
  await copyCompanions(from, to)
}

/** Ten questions through the chat template, ten beginnings of texts. */
const textsFor = (tokenizer: ModelTokenizer): string[] => [
  ...QUESTIONS.map(
    content =>
      tokenizer.chat?.render({ messages: [{ role: 'user', content }] }, { addGenerationPrompt: true }) ??
      content,
  ),
  ...BEGINNINGS,
]

/** What `serve` answers over HTTP, for the base or an adapter. */
async function ours(model: string, adapter: string | undefined, prompts: number[][]): Promise<Continuations> {
  const server = await startServer({
    model,
    servedModelNames: ['base'],
    port: 0,
    dtype: 'f32',
    maxModelLen: 256,
    kvCacheBytes: 2 ** 30,
    enableLora: adapter !== undefined,
    ...(adapter === undefined ? {} : { loraModules: { adapter } }),
  })
  try {
    const response = await fetch(`${server.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: adapter === undefined ? 'base' : 'adapter',
        prompt: prompts,
        max_tokens: TOKENS,
        temperature: 0,
        ignore_eos: true,
        logprobs: 20,
        return_token_ids: true,
        return_tokens_as_token_ids: true,
      }),
    })
    const body = (await response.json()) as {
      choices: { index: number; token_ids: number[]; logprobs: { top_logprobs: Record<string, number>[] } }[]
    }
    return body.choices
      .toSorted((a, b) => a.index - b.index)
      .map(({ token_ids, logprobs }) => ({
        tokens: token_ids,
        likeliest: Object.entries(logprobs.top_logprobs[0] ?? {})
          .map(([id, logprob]) => ({ id: Number(id.replace('token_id:', '')), logprob }))
          .toSorted((a, b) => b.logprob - a.logprob),
      }))
  } finally {
    await server.close()
  }
}

const judge = fileURLToPath(new URL('interop_llama.mjs', import.meta.url))
const theirs = (
  gguf: string,
  adapter: string | undefined,
  prompts: number[][],
  asked: readonly string[] = [],
): { answers: Continuations; ids: number[][] } =>
  JSON.parse(
    execFileSync(process.execPath, [judge, install, gguf, adapter ?? ''], {
      input: JSON.stringify({ prompts, tokens: TOKENS, texts: asked }),
      maxBuffer: 2 ** 28,
      stdio: ['pipe', 'pipe', 'inherit'],
    }).toString(),
  ) as { answers: Continuations; ids: number[][] }

try {
  if (!given) await writeRandomModel(at('random'))
  const source = given ?? at('random')
  const adapters = new Map<string, string>()
  if (givenAdapter) adapters.set(basename(givenAdapter), givenAdapter)
  else if (!given)
    for (const [name, adapter] of Object.entries(ADAPTERS)) {
      await writeRandomAdapter(at(name), adapter)
      adapters.set(name, at(name))
    }
  await writeF32(source, at('model'))
  const tokenizer = await loadTokenizer(source)
  // gpt-oss: its adapters are not merged.
  const isMxfp4 = (await readModelConfig(source)).quantization === 'mxfp4'
  const asked = given ? textsFor(tokenizer) : []
  const prompts = given
    ? asked.map(text => tokenizer.encode(text))
    : Array.from({ length: PROMPTS }, (_, s) =>
        Array.from({ length: 1 + ((s * 7) % 40) }, (__, i) => 3 + ((s * 7919 + i * 104_729) % 256)),
      )
  run('export', at('model'), '--format', 'gguf', '--type', 'f32', '--output', at('model.gguf'))
  if (isMxfp4) run('export', at('model'), '--format', 'gguf', '--output', at('stored.gguf'))
  const here = (model: string, adapter?: string): Generate => {
    return texts => ours(model, adapter, texts)
  }
  const there = (gguf: string, adapter?: string): Generate => {
    return texts => theirs(gguf, adapter, texts).answers
  }
  if (given) {
    const { ids } = theirs(at('model.gguf'), undefined, [], asked)
    const alike = ids.filter((list, i) => list.join() === prompts[i]?.join()).length
    console.log(`${alike} of ${asked.length} prompts have the same ids`)
  }
  await compare('model, its numbers in f32', prompts, [here(at('model')), there(at('model.gguf'))])
  if (isMxfp4)
    await compare('model as stored', prompts, [here(at('model')), there(at('stored.gguf'))], ROUNDED)
  if (given && isGgufPath(given))
    await compare('the file as it is', prompts, [here(at('model')), there(given)], ROUNDED)
  for (const [name, adapter] of adapters) {
    run('export', adapter, '--base', at('model'), '--format', 'gguf', '--output', at(`${name}-lora.gguf`))
    await compare(`${name}, base + adapter`, prompts, [
      here(at('model'), adapter),
      there(at('model.gguf'), at(`${name}-lora.gguf`)),
    ])
    if (isMxfp4) continue
    await mergeAdapter({ base: at('model'), adapter, output: at(`${name}-merged`) })
    run('export', at(`${name}-merged`), '--format', 'gguf', '--output', at(`${name}-merged.gguf`))
    await compare(`${name}, merged`, prompts, [here(at(`${name}-merged`)), there(at(`${name}-merged.gguf`))])
  }
} finally {
  await rm(directory, { recursive: true })
}
