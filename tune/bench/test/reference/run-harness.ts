/** Runs the real lm-evaluation-harness (run_harness.sh) and reads what it printed and kept. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FilterName } from '../../src/eval/gsm8k.ts'
import type { Recording } from './replay-model.ts'

type HarnessRun = {
  url: string
  model: string
  /** Directory of the tokenizer. */
  tokenizer: string
  /** A file of them. */
  questions: string
  /** Directory for what it writes. */
  output: string
}

type Sample = { doc_id: number; filter: FilterName; filtered_resps: string[]; exact_match: number }

const script = fileURLToPath(new URL('run_harness.sh', import.meta.url))

/** Its figures, and of each question what each filter extracted, in the order of questions. */
export async function runHarness(run: HarnessRun): Promise<Recording['models'][string]> {
  const child = spawn(
    'sh',
    [script, run.questions, `${run.url}/v1/completions`, run.model, run.tokenizer, run.output],
    { stdio: 'inherit', env: { ...process.env, HF_HUB_OFFLINE: '1' } },
  )
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`the harness ended with ${code}`)
  const files = readdirSync(run.output, { recursive: true }).map(String)
  const read = (name: RegExp) =>
    readFileSync(join(run.output, files.find(file => name.test(file)) ?? ''), 'utf8')
  const { results } = JSON.parse(read(/results_.*\.json$/)) as {
    results: { gsm8k_local: Record<string, number | string> }
  }
  const figures = Object.fromEntries(
    Object.entries(results.gsm8k_local).filter(
      (entry): entry is [string, number] =>
        entry[0].startsWith('exact_match') && typeof entry[1] === 'number',
    ),
  )
  const samples = read(/samples_.*\.jsonl$/)
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Sample)
  const judged = samples.map(({ doc_id: index, filter, filtered_resps, exact_match }) => ({
    index,
    filter,
    extracted: filtered_resps[0] ?? '',
    is_right: exact_match === 1,
  }))
  return {
    results: figures,
    judged: judged.toSorted((a, b) => a.index - b.index || (a.filter < b.filter ? -1 : 1)),
  }
}
