/**
 * Speed of the server's engine: prefill and decode tokens a second at 1, 8 and 50 sequences, then how soon an
 * adapter that is loaded while 50 sequences run gives its first token. Arguments: a model's directory, or a
 * shape that is written with random weights; --threads N, --prompt N, --answer N,
 * --sequences 1,8,50 (or none), --adapter-rounds N (0 leaves them out), --quantization NAME, --json.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { SHAPES, writeNewModel, type ShapeName } from '@cairn-tune/train'
import { QUANTIZATIONS, type Quantization, type ServeOptions } from '@cairn-tune/serve'
import { loadServedModel } from '@cairn-tune/serve/served-model'
import { measureAdapters } from './adapter-latency.ts'
import { measure, promptsOf } from './measure.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string' },
    prompt: { type: 'string', default: '128' },
    answer: { type: 'string', default: '32' },
    sequences: { type: 'string', default: '1,8,50' },
    'adapter-rounds': { type: 'string', default: '50' },
    quantization: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const [promptLength, answerLength] = [Number(values.prompt), Number(values.answer)]
const work = await mkdtemp(join(tmpdir(), 'cairn-bench-'))
const shape = (Object.keys(SHAPES) as ShapeName[]).find(name => name === (positionals[0] ?? 'small'))
const directory = shape ? join(work, 'model') : (positionals[0] ?? '')
if (shape) await writeNewModel(directory, shape, 1)
else await stat(directory)

const options: ServeOptions = {
  model: directory,
  servedModelNames: ['base'],
  port: 0,
  maxModelLen: 2048,
  maxSequences: 64,
  prefixCaching: false,
  ...(values.threads ? { threads: Number(values.threads) } : {}),
  ...(values.quantization && Object.hasOwn(QUANTIZATIONS, values.quantization)
    ? { quantization: values.quantization as Quantization }
    : {}),
  log: line => console.error(line),
}

const quantile = (times: readonly number[], q: number) =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(q * times.length))] ?? NaN

const model = await loadServedModel(options)
const rows = []
for (const count of values.sequences === 'none' ? [] : values.sequences.split(',').map(Number)) {
  const prompts = promptsOf(count, promptLength)
  // Warm-up: records programs and touches memory.
  await measure(model, prompts, answerLength)
  const { prefill, decode, prefillCpu, decodeCpu } = await measure(model, prompts, answerLength)
  rows.push({ sequences: count, prefill, decode, prefillCpu, decodeCpu })
}
await model.close()
const rounds = Number(values['adapter-rounds'])
const latency = rounds > 0 ? await measureAdapters(options, work, rounds) : undefined
const spread = (times: readonly number[]) => ({
  p50: quantile(times, 0.5),
  p90: quantile(times, 0.9),
  p99: quantile(times, 0.99),
})
const adapter = latency && {
  rounds,
  total: spread(latency.total),
  loading: spread(latency.loading),
  base: spread(latency.base),
}
await rm(work, { recursive: true, force: true })

if (values.json) {
  console.log(
    JSON.stringify({
      model: positionals[0] ?? 'small',
      threads: values.threads,
      promptLength,
      answerLength,
      rows,
      adapter,
    }),
  )
} else {
  console.log(
    `${positionals[0] ?? 'small'}, prompts of ${promptLength}, answers of ${answerLength} tokens\n\n| ` +
      'sequences | prefill tok/s | decode tok/s | prefill tok a CPU second | decode tok a CPU second ' +
      `|\n|---|---|---|---|---|`,
  )
  for (const { sequences, prefill, decode, prefillCpu, decodeCpu } of rows)
    console.log(
      `| ${sequences} | ${prefill.toFixed(0)} | ${decode.toFixed(1)} | ${prefillCpu.toFixed(0)} | ` +
        `${decodeCpu.toFixed(1)} |`,
    )
  const measured = adapter
    ? ([
        ['adapter: asked for to its first token', adapter.total],
        ['of these until the reply that it is loaded', adapter.loading],
        ['one token of the base', adapter.base],
      ] as const)
    : []
  if (adapter)
    console.log(
      `\n50 sequences running, ${rounds} rounds, milliseconds\n\n| | p50 | p90 | p99 |\n|---|---|---|---|`,
    )
  for (const [name, { p50, p90, p99 }] of measured)
    console.log(`| ${name} | ${p50.toFixed(1)} | ${p90.toFixed(1)} | ${p99.toFixed(1)} |`)
}
