/** llama.cpp's own batched benchmark, built as `llama-batched-bench`: one process per measurement. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Speed } from './measure.ts'

export type BatchedBench = {
  program: string
  gguf: string
  threads: number
  prompt: number
  answer: number
  flash: boolean
}

/** Its figures for `count` sequences. It reports no processor time, and its tokens mean nothing. */
export async function runBatchedBench(bench: BatchedBench, count: number): Promise<Speed> {
  const { program, gguf, threads, prompt, answer, flash } = bench
  const room = count * (prompt + answer)
  const flags = {
    '-m': gguf,
    '-c': 256 * Math.ceil(room / 256) + 256,
    '-b': 2048,
    '-ub': 512,
    '-npp': prompt,
    '-ntg': answer,
    '-npl': count,
    '-t': threads,
    '-tb': threads,
    '-fa': flash ? 'on' : 'off',
    '--output-format': 'jsonl',
  }
  const { stdout } = await promisify(execFile)(program, Object.entries(flags).flat().map(String))
  const line = stdout.split('\n').find(text => text.startsWith('{'))
  if (!line) throw new Error(`${program} printed no line of JSON:\n${stdout}`)
  const { speed_pp: prefill, speed_tg: decode } = JSON.parse(line) as { speed_pp: number; speed_tg: number }
  return { prefill, decode, prefillCpu: NaN, decodeCpu: NaN, firsts: [] }
}
