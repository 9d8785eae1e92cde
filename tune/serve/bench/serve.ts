/**
 * Speed of the server's engine: prefill and decode tokens a second at 1, 8 and 50 sequences, then how soon an adapter that is loaded while 50 sequences
 * run gives its first token. Arguments: a model's directory, or a shape that is written with random weights; --threads N, --prompt N, --answer N,
 * --sequences 1,8,50, --adapter-rounds N (0 leaves them out), --quantization NAME, --json.
 */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readModelConfig, writeAdapter, type AdapterTensor } from '@cairn-tune/weights'
import { SHAPES, createRandom, qwen3Weights, writeNewModel, type ShapeName } from '@cairn-tune/train'
import { QUANTIZATIONS, startServer, type Quantization, type ServeOptions } from '@cairn-tune/serve'
import { loadServedModel } from '@cairn-tune/serve/served-model'
import { measure, promptsOf } from './measure.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string' }, prompt: { type: 'string', default: '128' }, answer: { type: 'string', default: '32' }, sequences: { type: 'string', default: '1,8,50' },
    'adapter-rounds': { type: 'string', default: '50' }, quantization: { type: 'string' }, json: { type: 'boolean', default: false },
  },
})
const [promptLength, answerLength] = [Number(values.prompt), Number(values.answer)]
const work = await mkdtemp(join(tmpdir(), 'cairn-bench-'))
const shape = (Object.keys(SHAPES) as ShapeName[]).find(name => name === (positionals[0] ?? 'small'))
const directory = shape ? join(work, 'model') : (positionals[0] ?? '')
if (shape) await writeNewModel(directory, shape, 1)
else await stat(directory)

const options: ServeOptions = {
  model: directory, servedModelNames: ['base'], port: 0, maxModelLen: 2048, maxSequences: 64, prefixCaching: false, ...(values.threads ? { threads: Number(values.threads) } : {}),
  ...(values.quantization && Object.hasOwn(QUANTIZATIONS, values.quantization) ? { quantization: values.quantization as Quantization } : {}), log: line => console.error(line),
}

const quantile = (sorted: readonly number[], q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN

/** Writes an adapter of rank 16 on all linears, times loading it and its first token while 50 sequences run, and unloads it. */
async function measureAdapters(rounds: number): Promise<{ rounds: number; p50: number; p99: number; loading: number }> {
  const config = await readModelConfig(directory)
  const rank = 16
  const { next } = createRandom(2)
  const tensors = qwen3Weights(config).filter(({ name }) => name.includes('_proj.')).flatMap(({ name, shape: [outputs = 0, inputs = 0] }): AdapterTensor[] =>
    ([['A', [rank, inputs]], ['B', [outputs, rank]]] as const).map(([side, sizes]) => ({ name: name.replace(/weight$/, `lora_${side}.weight`), shape: [sizes[0], sizes[1]], values: Float32Array.from({ length: sizes[0] * sizes[1] }, () => 0.02 * (next() - 0.5)) })))
  await mkdir(join(work, 'adapter'))
  await writeAdapter(join(work, 'adapter'), { baseModel: directory, lora_rank: rank, lora_alpha: 32, lora_dropout: 0, lora_target_modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] }, tensors, 'BF16')
  const server = await startServer({ ...options, enableLora: true, maxLoras: 4, env: { ...process.env, VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True' } })
  const post = async (path: string, body: object) => {
    const response = await fetch(server.url + path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
    if (!response.ok) throw new Error(await response.text())
    return await response.text()
  }
  const done = new AbortController()
  const running = Array.from({ length: 50 }, async () => {
    do await post('/v1/completions', { model: 'base', prompt: 'running', max_tokens: 500, temperature: 0, ignore_eos: true })
    while (!done.signal.aborted)
  })
  const times: number[] = []
  const loading: number[] = []
  for (let i = 0; i <= rounds; i++) {
    const start = performance.now()
    await post('/v1/load_lora_adapter', { lora_name: 'new', lora_path: join(work, 'adapter') })
    const loaded = performance.now()
    await post('/v1/completions', { model: 'new', prompt: 'x', max_tokens: 1, temperature: 0 })
    // The first round records programs with adapters.
    if (i > 0) {
      times.push(performance.now() - start)
      loading.push(loaded - start)
    }
    await post('/v1/unload_lora_adapter', { lora_name: 'new' })
  }
  done.abort()
  await Promise.all(running)
  await server.close()
  const [sorted, loads] = [times.toSorted((a, b) => a - b), loading.toSorted((a, b) => a - b)]
  return { rounds, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), loading: quantile(loads, 0.5) }
}

const model = await loadServedModel(options)
const rows = []
for (const count of values.sequences.split(',').map(Number)) {
  const prompts = promptsOf(count, promptLength)
  // Once to record programs and touch memory.
  await measure(model, prompts, answerLength)
  const { prefill, decode, prefillCpu, decodeCpu } = await measure(model, prompts, answerLength)
  rows.push({ sequences: count, prefill, decode, prefillCpu, decodeCpu })
}
await model.close()
const rounds = Number(values['adapter-rounds'])
const adapter = rounds > 0 ? await measureAdapters(rounds) : undefined
await rm(work, { recursive: true, force: true })

if (values.json) {
  console.log(JSON.stringify({ model: positionals[0] ?? 'small', threads: values.threads, promptLength, answerLength, rows, adapter }))
} else {
  console.log(`${positionals[0] ?? 'small'}, prompts of ${promptLength}, answers of ${answerLength} tokens\n\n| sequences | prefill tok/s | decode tok/s | prefill tok a CPU second | decode tok a CPU second |\n|---|---|---|---|---|`)
  for (const { sequences, prefill, decode, prefillCpu, decodeCpu } of rows) console.log(`| ${sequences} | ${prefill.toFixed(0)} | ${decode.toFixed(1)} | ${prefillCpu.toFixed(0)} | ${decodeCpu.toFixed(1)} |`)
  if (adapter) console.log(`\nadapter loaded to its first token, 50 sequences running: p50 ${adapter.p50.toFixed(1)} ms, p99 ${adapter.p99.toFixed(1)} ms of ${adapter.rounds}, the reply to its loading after ${adapter.loading.toFixed(1)} ms at the median`)
}
