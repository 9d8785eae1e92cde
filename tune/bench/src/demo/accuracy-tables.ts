/** Tables of a demonstration: the spec's accuracy table, and one with further scores. */
import type { Table } from '../matrix/tables.ts'
import type { DemoOutcome, Scored } from './outcome.ts'

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/** Spread over the seeds. Undefined for a single seed. */
function spread(values: readonly number[]): number | undefined {
  if (values.length < 2) return undefined
  const middle = mean(values)
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1))
}

const fraction = (value: number | undefined) => value?.toFixed(4) ?? '-'
const grouped = (scored: readonly Scored[]) => [...Map.groupBy(scored, ({ config }) => config)]

/** The spec's table: one row a configuration, on the base it was trained on. */
function mainTable({ scored, untrained }: DemoOutcome): Table {
  const seeds = new Set(scored.map(({ seed }) => seed)).size
  const rows = grouped(scored.filter(({ base }) => base === 'own')).map(([config, runs]) => {
    const accuracies = runs.map(({ romanian }) => romanian.accuracy)
    return [
      config,
      fraction(mean(accuracies)),
      fraction(mean(runs.map(({ romanian }) => romanian.stderr))),
      ...(seeds > 1 ? [fraction(spread(accuracies))] : []),
    ]
  })
  const { accuracy, stderr, total } = untrained.romanian
  return {
    title: 'Accuracy on Romanian problems',
    columns: ['Config', 'accuracy', 'Stderr', ...(seeds > 1 ? ['Between seeds'] : [])],
    rows: [['untrained base', fraction(accuracy), fraction(stderr), ...(seeds > 1 ? ['-'] : [])], ...rows],
    notes: [
      `Exact match of the number after \`####\`, greedy decoding, ${total} questions outside the training ` +
        `data${seeds > 1 ? `, mean of ${seeds} seeds` : ''}. Stderr is √(p(1−p)/(n−1)) over the questions ` +
        `of one seed${seeds > 1 ? '; "between seeds" is the standard deviation of the accuracies' : ''}.`,
    ],
  }
}

/** Adapters of quantised recipes on both bases, and what each adapter costs in English accuracy. */
function sideTable({ scored, untrained }: DemoOutcome): Table {
  const rows = grouped(scored).map(([config, runs]) => {
    const of = (base: Scored['base'], language: 'romanian' | 'english') => {
      const found = runs.filter(run => run.base === base)
      return found.length === 0 ? '-' : fraction(mean(found.map(run => run[language].accuracy)))
    }
    return [config, of('own', 'romanian'), of('bf16', 'romanian'), of('own', 'english')]
  })
  return {
    title: 'Both bases, and the accuracy of an adapter',
    columns: ['Config', 'Romanian, own base', 'Romanian, bf16 base', 'English, own base'],
    rows: [
      ['untrained base', fraction(untrained.romanian.accuracy), '-', fraction(untrained.english.accuracy)],
      ...rows,
    ],
    notes: [
      '"Own" is the base as the recipe stores it, on which the adapter was trained. ' +
        'A dash means that the recipe keeps the base in bf16.',
    ],
  }
}

export const accuracyTables = (outcome: DemoOutcome): Table[] => [mainTable(outcome), sideTable(outcome)]
