/** The error and the state of a run when the disk is full. /dev/full is always full. */
import { readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const settings = {
  dataset: bench.writeTexts('texts', textsOf(32, 8)),
  gradient_accumulation_steps: 1,
  max_steps: 6,
  threads: 1,
  save_steps: 2,
}

/**
 * Promise T4.5: A full disk is reported with the path and the last saved step, and the run can resume from
 * it.
 */
test('a full disk is reported with the path and the last saved step, from which the run resumes', async () => {
  const output_dir = join(bench.directory, 'full')
  const metrics = join(output_dir, 'metrics.jsonl')
  const fill = ({ step }: { step: number }) => {
    if (step !== 3) return
    rmSync(metrics)
    symlinkSync('/dev/full', metrics)
  }
  await expect(bench.run({ ...settings, output_dir }, { onStep: fill })).rejects.toThrow(
    /full\/metrics\.jsonl: cannot write \(ENOSPC: .*\); the state after step 4 is saved: free space and continue with --resume/,
  )
  rmSync(metrics)
  const resumed = await bench.run({ ...settings, output_dir, resume: true })
  const whole = await bench.run(settings)
  expect(losses(resumed)).toEqual(losses(whole).slice(4))
  const weights = (path: string) => readFileSync(join(path, 'adapter_model.safetensors'))
  expect(weights(resumed.output).equals(weights(whole.output))).toBe(true)
})
