/**
 * Launches of a LoRA micro-step on a card of compute capability 9.0, counted without running it. A change
 * that adds launches fails here, and the page states the same numbers.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CudaEngine } from '@cairn-tune/native'
import { countStep, createCountingEngine } from '../bench/count-launches.ts'
import { sumWork } from '../bench/model-step.ts'

const page = readFileSync(new URL('../../../docs/tune/cuda.md', import.meta.url), 'utf8')
let engine: CudaEngine
beforeAll(async () => {
  engine = await createCountingEngine()
}, 600_000)
afterAll(() => engine.close())

test.each([
  { shape: 'qwen3-0.6b', launches: 1098, norm: 3, update: 1 },
  { shape: 'qwen3-8b', launches: 1410, norm: 3, update: 1 },
] as const)('a micro-step of $shape has $launches launches', ({ shape, launches, norm, update }) => {
  const step = countStep(engine, shape, { recipe: 'bf16' })
  expect([step.micro.launches, step.norm.launches, step.update.launches]).toEqual([launches, norm, update])
  expect(page).toMatch(new RegExp(`${shape}.*${launches.toLocaleString('en-US')}`))
  expect(step.micro.kernels['loss_rows']).toBe(2)
  // Copies of adapters need no staging.
  expect(step.micro.kernels['stage']).toBeUndefined()
  // With 512 rows the head of a narrow model uses small tiles. Adapters have kernels of their own.
  expect(Object.keys(step.micro.kernels).filter(name => name.startsWith('matmul'))).toEqual([])
  expect(sumWork(step.micro.work).launches).toBe(launches)
})
