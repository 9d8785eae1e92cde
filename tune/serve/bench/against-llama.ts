/**
 * The server's engine beside llama.cpp: same weights in bf16, same threads, same prompts, as many tokens,
 * greedy, both warm, alternately in one run; medians of the rounds and of their ratios. Arguments: MODEL GGUF
 * DIRECTORY, the last with node-llama-cpp in its node_modules; --threads N, --prompt N, --answer N,
 * --sequences 1,8,50, --rounds N, --flash (llama.cpp's flash attention), --json.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { loadServedModel } from '@cairn-tune/serve/served-model'
import { measure, median, promptsOf, type Speed } from './measure.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: String(availableParallelism()) },
    prompt: { type: 'string', default: '128' },
    answer: { type: 'string', default: '32' },
    sequences: { type: 'string', default: '1,8,50' },
    rounds: { type: 'string', default: '5' },
    flash: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const [directory, gguf, install] = positionals
if (!directory || !gguf || !install)
  throw new Error('usage: against-llama.ts MODEL MODEL.gguf DIRECTORY_WITH_NODE_LLAMA_CPP')
const [threads, answerLength, rounds] = [Number(values.threads), Number(values.answer), Number(values.rounds)]

const child = fork(fileURLToPath(new URL('llama-cpp.mjs', import.meta.url)), [
  install,
  gguf,
  values.threads,
  values.prompt,
  values.answer,
  values.flash ? 'flash' : 'plain',
])
const model = await loadServedModel({
  model: directory,
  servedModelNames: ['base'],
  port: 0,
  maxModelLen: 2048,
  maxSequences: 64,
  prefixCaching: false,
  threads,
  log: line => console.error(line),
})
await once(child, 'message')

async function ask(prompts: readonly (readonly number[])[]): Promise<Speed> {
  const reply = once(child, 'message')
  child.send(prompts)
  const [speed] = (await reply) as [Speed]
  return speed
}

type Pair = { ours: Speed; theirs: Speed }
const counts = values.sequences.split(',').map(Number)
const pairs = new Map<number, Pair[]>(counts.map(count => [count, []]))
// The first round records programs and touches memory.
for (let round = 0; round <= rounds; round++) {
  for (const count of counts) {
    const prompts = promptsOf(count, Number(values.prompt))
    const ours = await measure(model, prompts, answerLength)
    const theirs = await ask(prompts)
    if (round > 0) pairs.get(count)?.push({ ours, theirs })
  }
}
child.kill()
await model.close()

const KINDS = ['prefill', 'decode', 'prefillCpu', 'decodeCpu'] as const
const rows = counts.flatMap(count =>
  KINDS.map(kind => {
    const all = pairs.get(count) ?? []
    const [ours, theirs] = (['ours', 'theirs'] as const).map(side =>
      median(all.map(pair => pair[side][kind])),
    )
    return {
      sequences: count,
      kind,
      ours,
      theirs,
      ratio: median(all.map(pair => pair.ours[kind] / pair.theirs[kind])),
    }
  }),
)
const last = counts.map(count => pairs.get(count)?.at(-1))
const agreed = last.reduce(
  (sum, pair) => sum + (pair?.ours.firsts.filter((token, i) => token === pair.theirs.firsts[i]).length ?? 0),
  0,
)

if (values.json) {
  console.log(
    JSON.stringify({
      model: directory,
      threads,
      prompt: Number(values.prompt),
      answer: answerLength,
      rounds,
      rows,
      agreed,
      of: counts.reduce((a, b) => a + b, 0),
    }),
  )
} else {
  const names = {
    prefill: 'prefill, tok/s',
    decode: 'decode, tok/s',
    prefillCpu: 'prefill, tok a CPU second',
    decodeCpu: 'decode, tok a CPU second',
  }
  console.log(
    `${threads} threads, prompts of ${values.prompt}, answers of ${answerLength}, ${rounds} rounds; ` +
      `first tokens alike: ${agreed} of ${counts.reduce((a, b) => a + b, 0)}\n\n| sequences | | here | ` +
      `llama.cpp | ratio |\n|---|---|---|---|---|`,
  )
  for (const { sequences, kind, ours = NaN, theirs = NaN, ratio } of rows)
    console.log(
      `| ${sequences} | ${names[kind]} | ${ours.toFixed(1)} | ${theirs.toFixed(1)} | ${ratio.toFixed(2)} |`,
    )
}
