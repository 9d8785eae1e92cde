/**
 * What a form costs a token: decode speed of 8 sequences that are free, and of 8 that write strings of a JSON
 * object, in pairs. The vocabulary is as large as Qwen3's. Arguments: --sequences N, --answer N, --pairs N,
 * --threads N.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadServedModel } from '@cairn-tune/serve/served-model'
import { writeNewModel } from '@cairn-tune/train'
import { createForms, type Form } from '../src/grammar/forms.ts'
import { measure, median, promptsOf } from './measure.ts'

const { values } = parseArgs({
  options: {
    sequences: { type: 'string', default: '8' },
    answer: { type: 'string', default: '48' },
    pairs: { type: 'string', default: '5' },
    threads: { type: 'string' },
  },
})
const work = await mkdtemp(join(tmpdir(), 'cairn-bench-'))
await writeNewModel(join(work, 'model'), 'qwen3-0.6b', 1)
const model = await loadServedModel({
  model: join(work, 'model'),
  port: 0,
  maxModelLen: 512,
  prefixCaching: false,
  ...(values.threads ? { threads: Number(values.threads) } : {}),
  log: line => console.error(line),
})

/** Words of letters for every token, because the tokens of these weights mean nothing. */
function bytesOf(token: number): Uint8Array {
  if (token < 256) return Uint8Array.of(token)
  let text = ''
  for (let rest = token; rest > 0; rest = Math.floor(rest / 27))
    text += ' etaoinshrdlucmfwypvbgkqjxz'[rest % 27]
  return new TextEncoder().encode(text)
}
const forms = createForms(bytesOf, model.vocabSize, [])
const start = performance.now()
const form = forms.of({
  kind: 'schema',
  startsInThought: false,
  schema: { type: 'object', properties: { text: { type: 'string', minLength: 4000 } }, required: ['text'] },
})
const loose = forms.of({ kind: 'regex', startsInThought: false, pattern: '("[^"]*" ){1000,}' })
console.log(`forms ready in ${Math.round(performance.now() - start)} ms`)

/**
 * Distribution-free 95% confidence interval of the median: the number of values below the median follows a
 * binomial distribution (here by the normal approximation).
 */
function medianInterval(sample: readonly number[]): [low: number, high: number] {
  const sorted = sample.toSorted((a, b) => a - b)
  const beside = Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2) - 1
  const place = Math.max(0, beside)
  return [sorted[place] ?? NaN, sorted[sorted.length - 1 - place] ?? NaN]
}

const percent = (share: number) => (100 * share).toFixed(1)
const percentText = (sample: readonly number[]) =>
  `${percent(median(sample))} % (${medianInterval(sample).map(percent).join(' to ')})`

const prompts = promptsOf(Number(values.sequences), 16)
const speed = async (of: Form | undefined) => await measure(model, prompts, Number(values.answer), of)
for (const [name, one] of [
  ['a string of counted characters (each state is new)', form],
  ['strings of any length (states come again)', loose],
] as const) {
  await speed(undefined)
  const [pairs, cpuPairs]: [number[], number[]] = [[], []]
  for (let i = 0; i < Number(values.pairs); i++) {
    // Each goes first in every other pair, so that drift affects both.
    const first = await speed(i % 2 === 0 ? undefined : one)
    const second = await speed(i % 2 === 0 ? one : undefined)
    const [free, formed] = i % 2 === 0 ? [first, second] : [second, first]
    pairs.push(free.decode / formed.decode - 1)
    cpuPairs.push(free.decodeCpu / formed.decodeCpu - 1)
    console.log(`${name}: free ${free.decode.toFixed(1)}, formed ${formed.decode.toFixed(1)} tokens/s`)
  }
  console.log(
    `${name}: ${percentText(pairs)} more time a token, ${percentText(cpuPairs)} more of the processors ` +
      `(medians of ${pairs.length} pairs, and where they lie in 95 of 100 cases)`,
  )
}
await model.close()
await rm(work, { recursive: true })
