import { expect, test } from 'vitest'
import { finalLoss, lossCharts, lossTable, lossesOf } from './losses.ts'

const ending = (end: number) => [...Array<number>(18).fill(3), end, end]

test('the final loss is the mean of the last tenth of the steps', () => {
  expect(finalLoss([...Array<number>(18).fill(9), 1, 2])).toBe(1.5)
})

test('compares each recipe with bf16 and its own limit', () => {
  const { rows } = lossTable([
    { config: 'BF16', losses: ending(2) },
    { config: 'FP8', losses: ending(2.03) },
    { config: 'FP4', losses: ending(2.03) },
    { config: 'QBnB', losses: ending(1.9) },
  ])
  expect(rows.map(([config, , , against, limit, within]) => [config, against, limit, within])).toEqual([
    ['BF16', '-', '-', '-'],
    ['FP8', '+1.50 %', '1 %', 'no'],
    ['FP4', '+1.50 %', '5 %', 'yes'],
    ['QBnB', '-5.00 %', '5 %', 'yes'],
  ])
})

test('draws one chart of all configurations and one of each', () => {
  expect(
    lossCharts([
      { config: 'BF16', losses: [1, 2] },
      { config: 'QFP8 + fp8-hybrid', losses: [1, 2] },
    ]).map(({ name }) => name),
  ).toEqual(['all', 'bf16', 'qfp8-fp8-hybrid'])
})

test('the losses of a demonstration are the mean of its seeds at each step', () => {
  const run = (config: string, seed: number, losses: number[]) => ({
    config,
    seed,
    seconds: 1,
    points: losses.map((loss, i): [number, number] => [i + 1, loss]),
  })
  expect(
    lossesOf({ losses: [run('BF16', 1, [4, 2]), run('BF16', 2, [2, 1]), run('FP8', 1, [3, 3])] }),
  ).toEqual([
    { config: 'BF16', losses: [3, 1.5] },
    { config: 'FP8', losses: [3, 3] },
  ])
})
