import { expect, test } from 'vitest'
import { finalLoss, lossCharts, lossTable } from './losses.ts'

const ending = (end: number) => [...Array<number>(18).fill(3), end, end]

test('the end of a run is the mean of its last tenth', () => {
  expect(finalLoss([...Array<number>(18).fill(9), 1, 2])).toBe(1.5)
})

test('each recipe is held against bf16 and its own limit', () => {
  const { rows } = lossTable([{ config: 'BF16', losses: ending(2) }, { config: 'FP8', losses: ending(2.03) }, { config: 'FP4', losses: ending(2.03) }, { config: 'QBnB', losses: ending(1.9) }])
  expect(rows.map(([config, , , against, limit, within]) => [config, against, limit, within])).toEqual([
    ['BF16', '-', '-', '-'], ['FP8', '+1.50 %', '1 %', 'no'], ['FP4', '+1.50 %', '5 %', 'yes'], ['QBnB', '-5.00 %', '5 %', 'yes'],
  ])
})

test('there is a chart of all and one of each', () => {
  expect(lossCharts([{ config: 'BF16', losses: [1, 2] }, { config: 'QFP8 + fp8-hybrid', losses: [1, 2] }]).map(({ name }) => name)).toEqual(['all', 'bf16', 'qfp8-fp8-hybrid'])
})
