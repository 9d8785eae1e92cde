/**
 * The server's engine beside llama.cpp: same weights in bf16, same threads, same prompts, as many tokens,
 * greedy, both warm, alternately in one run; medians of the rounds and of their ratios. Arguments: MODEL GGUF
 * PEER, the last a directory with node-llama-cpp in its node_modules, or llama.cpp's own
 * `llama-batched-bench`, which has no figures of processor time and of tokens; --threads N, --prompt N,
 * --answer N, --sequences 1,8,50, --rounds N, --flash (llama.cpp's flash attention), --json.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { loadServedModel } from '@cairn-tune/serve/served-model'
import { runBatchedBench } from './batched-bench.ts'
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
const [directory, gguf, peer] = positionals
if (!directory || !gguf || !peer)
  throw new Error(
    'usage: against-llama.ts MODEL MODEL.gguf DIRECTORY_WITH_NODE_LLAMA_CPP|LLAMA_BATCHED_BENCH',
  )
const [threads, answerLength, rounds] = [Number(values.threads), Number(values.answer), Number(values.rounds)]

type Peer = { ask(prompts: readonly (readonly number[])[]): Promise<Speed>; close(): void }

/** llama.cpp in a persistent process of its own, through its Node binding. */
async function startBinding(install: string, gguf: string): Promise<Peer> {
  const child = fork(fileURLToPath(new URL('llama-cpp.mjs', import.meta.url)), [
    install,
    gguf,
    values.threads,
    values.prompt,
    values.answer,
    values.flash ? 'flash' : 'plain',
  ])
  await once(child, 'message')
  return {
    async ask(prompts) {
      const reply = once(child, 'message')
      child.send(prompts)
      const [speed] = (await reply) as [Speed]
      return speed
    },
    close: () => void child.kill(),
  }
}

const shape = { threads, prompt: Number(values.prompt), answer: answerLength, flash: values.flash }
const isProgram = statSync(peer).isFile()
const llama: Peer = isProgram
  ? {
      ask: prompts => runBatchedBench({ program: peer, gguf, ...shape }, prompts.length),
      close: () => undefined,
    }
  : await startBinding(peer, gguf)
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
type Pair = { ours: Speed; theirs: Speed }
const counts = values.sequences.split(',').map(Number)
const pairs = new Map<number, Pair[]>(counts.map(count => [count, []]))
// The first round records programs and touches memory.
for (let round = 0; round <= rounds; round++) {
  for (const count of counts) {
    const prompts = promptsOf(count, Number(values.prompt))
    const ours = await measure(model, prompts, answerLength)
    const theirs = await llama.ask(prompts)
    if (round > 0) pairs.get(count)?.push({ ours, theirs })
  }
}
llama.close()
await model.close()

const KINDS = isProgram
  ? (['prefill', 'decode'] as const)
  : (['prefill', 'decode', 'prefillCpu', 'decodeCpu'] as const)
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
    `${threads} threads, prompts of ${values.prompt}, answers of ${answerLength}, ${rounds} rounds` +
      (isProgram ? '' : `; first tokens alike: ${agreed} of ${counts.reduce((a, b) => a + b, 0)}`) +
      `\n\n| sequences | | here | ` +
      `llama.cpp | ratio |\n|---|---|---|---|---|`,
  )
  for (const { sequences, kind, ours = NaN, theirs = NaN, ratio } of rows)
    console.log(
      `| ${sequences} | ${names[kind]} | ${ours.toFixed(1)} | ${theirs.toFixed(1)} | ${ratio.toFixed(2)} |`,
    )
}
