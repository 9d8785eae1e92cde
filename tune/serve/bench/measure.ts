/** Measures the speed of a loaded model's engine, for the benchmarks in this folder. */
import { toSampling } from '@cairn-tune/serve/sampling'
import type { ServedModel } from '@cairn-tune/serve/served-model'
import type { Form } from '../src/grammar/forms.ts'

/**
 * Tokens per second until the last sequence has its first token, and from then on: by the clock, and by
 * processor seconds, which are more reliable on a shared machine.
 */
export type Speed = {
  prefill: number
  decode: number
  prefillCpu: number
  decodeCpu: number
  firsts: number[]
}

/** Prompts of `length` tokens that differ from the first token on. */
export const promptsOf = (count: number, length: number): number[][] =>
  Array.from({ length: count }, (_, s) =>
    Array.from({ length }, (__, i) => 3 + ((s * 7919 + i * 104_729) % 256)),
  )

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Runs all prompts from start to end, greedily. */
export async function measure(
  model: ServedModel,
  prompts: readonly (readonly number[])[],
  answerLength: number,
  form?: Form,
): Promise<Speed> {
  const firsts: number[] = prompts.map(() => -1)
  const [start, startCpu] = [performance.now(), cpuSeconds()]
  let [decodeStart, decodeStartCpu, started, after] = [0, 0, 0, 0]
  await Promise.all(
    prompts.map(
      (ids, s) =>
        new Promise<void>((resolve, reject) => {
          const sampling = toSampling(
            { temperature: 0, ignore_eos: true },
            {
              model,
              edits: { logitBias: new Map(), allowed: undefined, badWords: [] },
              promptLength: ids.length,
              maxTokens: answerLength,
              logprobs: undefined,
              promptLogprobs: false,
              choice: 0,
            },
          )
          let made = 0
          model.generator.submit({
            ids,
            adapter: undefined,
            form,
            sampling,
            signal: new AbortController().signal,
            listener: {
              onToken({ token }) {
                if (made++ === 0) {
                  firsts[s] = token
                  if (++started === prompts.length)
                    [decodeStart, decodeStartCpu] = [performance.now(), cpuSeconds()]
                } else if (started === prompts.length) {
                  // Tokens of sequences that started early count only once all have started.
                  after++
                }
                return false
              },
              onEnd: ({ error }) => (error ? reject(error) : resolve()),
            },
          })
        }),
    ),
  )
  const tokens = prompts.reduce((sum, { length }) => sum + length, 0)
  return {
    prefill: (tokens * 1000) / (decodeStart - start),
    decode: (after * 1000) / (performance.now() - decodeStart),
    prefillCpu: tokens / (decodeStartCpu - startCpu),
    decodeCpu: after / (cpuSeconds() - decodeStartCpu),
    firsts,
  }
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN
