import { readFileSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDirectory, runHere as run, start } from './program.ts'

const { path, remove } = createDirectory()
afterAll(remove)
const model = path('tiny')
beforeAll(async () => {
  expect(await run(['model', 'new', model])).toMatchObject({ code: 0 })
})

const flags = [
  '--model',
  model,
  '--dataset',
  'problems:ro',
  '--samples',
  '60',
  '--max-seq-length',
  '256',
  '--gradient-accumulation-steps',
  '2',
  '--threads',
  '2',
  '--json',
]
/**
 * Enough steps of about 40 ms that a run is still in progress when the test kills it, also on a busy machine.
 */
const STEPS = 60
const train = (output: string, ...more: string[]) => [
  'train',
  ...flags,
  '--max-steps',
  String(STEPS),
  '--output-dir',
  path(output),
  ...more,
]
let made = 0
/** A separate folder for each run, including runs of a retried test. */
const newOutput = (name: string) => `${name}-${(made += 1)}`
const adapter = (output: string) => readFileSync(`${path(output)}/adapter/adapter_model.safetensors`)
const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
const stepsSaid = (out: string) => out.split('\n').length - 1

/** Promise T4: A run that is killed and resumed ends with the same bits. */
test('a run killed at any step and resumed ends with the same bits as an uninterrupted run', async () => {
  const [atOnce, inTwo] = [newOutput('whole'), newOutput('killed')]
  const whole = await run(train(atOnce))
  expect(whole).toMatchObject({ code: 0, err: expect.stringContaining('base weights') })
  expect(lines(whole.out).at(-1)).toMatchObject({ status: 'finished', steps: STEPS })
  // A random step, which the message names. A step is printed before its checkpoint is written, so the first
  // checkpoint is certain to exist only from the third step on.
  const killed = 3 + Math.floor(Math.random() * 12)
  const victim = start(train(inTwo, '--save-steps', '2'))
  await victim.waitForOutput(out => stepsSaid(out) >= killed)
  victim.child.kill('SIGKILL')
  expect((await victim.ended).code).toBe(null)
  const resumed = await run(train(inTwo, '--save-steps', '2', '--resume'))
  expect(resumed, `killed after step ${killed}`).toMatchObject({
    code: 0,
    err: expect.stringContaining('resuming after step'),
  })
  expect(adapter(inTwo).equals(adapter(atOnce)), `killed after step ${killed}`).toBe(true)
  const numbers = (output: string) =>
    lines(readFileSync(`${path(output)}/metrics.jsonl`, 'utf8')).map(
      ({ step, loss, grad_norm, learning_rate, epoch }) => ({ step, loss, grad_norm, learning_rate, epoch }),
    )
  expect(numbers(inTwo)).toEqual(numbers(atOnce))
})

/**
 * Promise T4.7: A second run in the same directory is refused with the holder's name, and SIGKILL releases
 * the directory.
 */
test("a second run in the same directory is rejected with the owner's name; killing the owner releases it", async () => {
  const output = newOutput('shared')
  const first = start(train(output))
  await first.waitForOutput(out => stepsSaid(out) >= 1)
  // Stopped, so that it is still running when the second one starts.
  first.child.kill('SIGSTOP')
  const second = await run(train(output, '--overwrite', '--seed', '7'))
  expect(second).toMatchObject({
    code: 2,
    err: expect.stringMatching(
      new RegExp(
        `output_dir .*${output}: process ${first.child.pid} on .*, since .*Z, is writing to it; wait`,
      ),
    ),
  })
  first.child.kill('SIGKILL')
  expect((await first.ended).code).toBe(null)
  const third = await run(train(output, '--overwrite', '--max-steps', '2'))
  expect(third).toMatchObject({ code: 0 })
  expect(lines(readFileSync(`${path(output)}/metrics.jsonl`, 'utf8'))).toHaveLength(2)
})

/** Promise T4: Ctrl-C saves a checkpoint and exits with 130. */
test('Ctrl-C saves a checkpoint and exits with 130', async () => {
  const stopped = newOutput('stopped')
  const running = start(train(stopped))
  await running.waitForOutput(out => stepsSaid(out) >= 2)
  running.child.kill('SIGINT')
  const { code, out } = await running.ended
  expect(code).toBe(130)
  expect(lines(out).at(-1)).toMatchObject({ status: 'interrupted', output: '' })
  expect(readdirSync(`${path(stopped)}/checkpoints`)).toHaveLength(1)
})

/**
 * Promise T5: The benchmark writes adapter, metrics and result to `benchmark_sft_<recipe>` and marks a short
 * run.
 */
test('the benchmark writes its adapter and result and prints a row marked as short', async () => {
  const env = { OUTPUT_DIR: path(newOutput('benchmarks')) }
  const done = await run(
    ['bench', 'sft', model, 'qbnb', '--samples', '40', '--max-steps', '1', '--threads', '2'],
    env,
  )
  expect(done).toMatchObject({ code: 0 })
  expect(done.out).toMatch(/^\S+ {2}QoNF4 \(bf16\) {2}[\d.]+k tokens\/s .*SHORT run, 2 threads\)\n$/)
  const directory = `${env.OUTPUT_DIR}/benchmark_sft_qbnb`
  expect(readdirSync(directory).toSorted()).toEqual([
    '.run.lock',
    'adapter',
    'checkpoints',
    'loss.svg',
    'metrics.jsonl',
    'result.json',
    'run.json',
  ])
  expect(JSON.parse(readFileSync(`${directory}/result.json`, 'utf8'))).toMatchObject({
    recipe: 'qbnb',
    is_short: true,
    config: {
      max_seq_length: 2048,
      per_device_train_batch_size: 2,
      gradient_accumulation_steps: 4,
      packing: true,
      lora_rank: 16,
      lora_alpha: 32,
    },
    outcome: { status: 'ok', steps: 1 },
  })
})

test('a benchmark that does not fit records OOM in its result and exits with 3', async () => {
  const env = { OUTPUT_DIR: path(newOutput('oom')) }
  const done = await run(['bench', 'sft', model, 'bf16', '--samples', '40', '--memory', '150MB'], env)
  expect(done).toMatchObject({
    code: 3,
    out: expect.stringMatching(/BF16 \(bf16\) {2}OOM {2}needs [\d.]+ [MG]iB of 143 MiB/),
  })
  expect(JSON.parse(readFileSync(`${env.OUTPUT_DIR}/benchmark_sft_bf16/result.json`, 'utf8'))).toMatchObject({
    outcome: { status: 'oom' },
  })
})
