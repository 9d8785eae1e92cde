import { expect, test } from 'vitest'
import { accuracyTables } from './accuracy-tables.ts'
import type { DemoOutcome, Scored } from './outcome.ts'
import { FULL, QUICK } from './plan.ts'
import { demoReport, demoTables } from './report.ts'

const score = (correct: number) => ({
  accuracy: correct / 100,
  stderr: Math.sqrt(((correct / 100) * (1 - correct / 100)) / 99),
  correct,
  total: 100,
})
const scored = (config: string, seed: number, base: Scored['base'], right: number): Scored => ({
  config,
  seed,
  base,
  romanian: score(right),
  english: score(10),
})
const outcome: DemoOutcome = {
  schema: 1,
  hardware: 'a <machine>',
  started_at: '2026-01-01T00:00:00Z',
  plan: {},
  untrained: { romanian: score(0), english: score(90) },
  scored: [
    scored('BF16', 1, 'own', 50),
    scored('BF16', 2, 'own', 60),
    scored('QFP4', 1, 'own', 40),
    scored('QFP4', 1, 'bf16', 30),
    scored('QFP4', 2, 'own', 40),
    scored('QFP4', 2, 'bf16', 36),
  ],
  losses: ['BF16', 'QFP4'].flatMap(config =>
    [1, 2].map(seed => ({
      config,
      seed,
      points: [
        [1, 2],
        [2, 1],
      ] as [number, number][],
      seconds: 3,
    })),
  ),
}

test('the accuracy table has one row per configuration with the mean and spread of its seeds', () => {
  expect(accuracyTables(outcome)[0]?.rows).toEqual([
    ['untrained base', '0.0000', '0.0000', '-'],
    ['BF16', '0.5500', '0.0497', '0.0707'],
    ['QFP4', '0.4000', '0.0492', '0.0000'],
  ])
})

test('with one seed the accuracy table has the columns of the specification', () => {
  const [main] = accuracyTables({ ...outcome, scored: outcome.scored.filter(({ seed }) => seed === 1) })
  expect(main?.columns).toEqual(['Config', 'accuracy', 'Stderr'])
})

test('the second table shows quantised recipes on both bases and the accuracy in English', () => {
  expect(accuracyTables(outcome)[1]?.rows).toEqual([
    ['untrained base', '0.0000', '-', '0.9000'],
    ['BF16', '0.5500', '-', '0.1000'],
    ['QFP4', '0.4000', '0.3300', '0.1000'],
  ])
})

test('compares losses only if there is a bf16 run', () => {
  expect(
    demoTables(outcome)
      .at(-1)
      ?.rows.map(([config, , end]) => [config, end]),
  ).toEqual([
    ['BF16', '1.0000'],
    ['QFP4', '1.0000'],
  ])
  expect(
    demoTables({ ...outcome, losses: outcome.losses.filter(({ config }) => config !== 'BF16') }),
  ).toHaveLength(2)
})

test('the report is one file, loads nothing and escapes its data', () => {
  const html = demoReport(outcome)
  expect(html).not.toMatch(/(?:src|href)=/)
  expect(html).toContain('a &#60;machine&#62;')
  // One chart of all, one per configuration, and the bars.
  expect(html.match(/<svg /g)).toHaveLength(4)
})

test('a report of a quick run warns at the top that the model learned nothing', () => {
  const quick = demoReport({ ...outcome, plan: { ...QUICK } })
  expect(quick).toContain(
    '<strong>This run is too small to learn anything.</strong> The base was trained for 60 of 8000 steps',
  )
  expect(quick.indexOf('teach nothing')).toBeLessThan(quick.indexOf('<h2>'))
  expect(demoReport({ ...outcome, plan: { ...FULL } })).not.toContain('teach nothing')
})
