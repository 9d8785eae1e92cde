import { expect, test } from 'vitest'
import type { StepMetrics } from '@cairn-tune/train'
import { durationText, showProgress, stepLine } from './progress.ts'

const metrics = (step: number): StepMetrics => ({
  step,
  total_steps: 40,
  epoch: 0.1,
  loss: 1.23456,
  grad_norm: 0.917,
  learning_rate: 1e-4,
  seconds: 4,
  slots: 16_384,
  real_tokens: 16_000,
  trained_tokens: 5000,
  tokens_per_second: 8123,
  rss_bytes: 1.25 * 2 ** 30,
})

test('prints a step as one line with loss, norm, speed, time left and memory', () => {
  expect(stepLine(metrics(10), 4.5)).toBe(
    '[█████···············] step 10/40  loss 1.2346  norm 0.92  8.1k tokens/s  eta 2m15s  1.25 GiB',
  )
})

test.each([
  [0.4, '0s'],
  [59.4, '59s'],
  [60, '1m00s'],
  [3599, '59m59s'],
  [7500, '2h05m'],
])('prints %d seconds as %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text)
})

test('without a terminal prints the first, the last and one step every ten seconds; JSON has every step', () => {
  const notes: string[] = []
  const out: string[] = []
  const io = {
    note: (line: string) => void notes.push(line),
    out: (text: string) => void out.push(text),
    terminal: undefined,
  }
  const view = showProgress(io, { json: false })
  for (const step of [1, 2, 3, 4, 40]) view.step(metrics(step))
  expect(notes.map(line => /step (\d+)/.exec(line)?.[1])).toEqual(['1', '4', '40'])
  expect(out).toEqual([])
  const machine = showProgress(io, { json: true })
  for (const step of [1, 2]) machine.step(metrics(step))
  expect(out.map(line => (JSON.parse(line) as StepMetrics).step)).toEqual([1, 2])
  expect(notes).toHaveLength(3)
})
