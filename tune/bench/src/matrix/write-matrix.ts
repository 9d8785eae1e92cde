/** Writes the results of a matrix: Markdown, JSON, and a chart as SVG and PNG. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RECIPES, RECIPE_TABLE } from '@cairn-tune/train/recipes'
import { InputError, makeDirectory, writeTextAtomically } from '@cairn-tune/weights'
import { z } from 'zod'
import { barChart } from '../bar-chart.ts'
import { outcomeSchema, type DemoOutcome } from '../demo/outcome.ts'
import { accuracyTables } from '../demo/accuracy-tables.ts'
import type { BenchmarkResult } from '../result.ts'
import {
  OWN_PROGRAM,
  baselineRecipes,
  formatCell,
  formatThousands,
  markdownOf,
  nameAmong,
  speedupTable,
  throughputTable,
  type Table,
} from './tables.ts'

export type MatrixReport = {
  models: readonly string[]
  results: readonly BenchmarkResult[]
  /** Result of the demonstration, if one ran. */ accuracy?: DemoOutcome | undefined
}

const tablesOf = ({ models, results, accuracy }: MatrixReport): Table[] => [
  throughputTable({ models, results }),
  speedupTable({ models, results }),
  ...(accuracy ? accuracyTables(accuracy) : []),
]

/**
 * Describes what was measured and how. Machines of runs without a measurement are named only if no run has
 * one.
 */
function setup(results: readonly BenchmarkResult[]): string {
  const of = (pick: (result: BenchmarkResult) => string) =>
    [...new Set(results.map(pick))].join('; ') || 'nothing measured'
  const measured = results.filter(({ outcome }) => outcome.status === 'ok')
  const hardware =
    [...new Set((measured.length > 0 ? measured : results).map(result => result.hardware))].join('; ') ||
    'nothing measured'
  return [
    `- Machine: ${hardware}`,
    `- Data: ${of(({ dataset, samples }) => `${dataset}, ${samples} samples`)}`,
    `- Programs: ${of(({ program, program_version: version }) => `${program} (${version})`)}`,
    '',
  ].join('\n')
}

function matrixChart({ models, results }: MatrixReport): string {
  const found = (recipe: string, isOwn: boolean) => (model: string) =>
    results.findLast(
      result =>
        result.model === model && result.recipe === recipe && (result.program === OWN_PROGRAM) === isOwn,
    )
  const all = [
    ...baselineRecipes(results).map(recipe => ({
      name: `baseline ${recipe.toUpperCase()}`,
      find: found(recipe, false),
    })),
    ...RECIPES.map(recipe => ({ name: RECIPE_TABLE[recipe].column, find: found(recipe, true) })),
  ]
  // Leave out columns without any result.
  const columns = all.filter(({ find }) => models.some(model => find(model)))
  const groups = models.map(model => ({
    name: nameAmong(models, model),
    bars: columns.map(({ find }) => {
      const result = find(model)
      if (!result) return undefined
      return result.outcome.status === 'ok' ? result.outcome.tokens_per_second : formatCell(result)
    }),
  }))
  return barChart(groups, {
    title: 'Tokens per second',
    series: columns.map(({ name }) => name),
    format: formatThousands,
  })
}

/** Tables and chart of these models; results of others are left out. */
export async function writeMatrix(directory: string, given: MatrixReport): Promise<{ markdown: string }> {
  const report = { ...given, results: given.results.filter(({ model }) => given.models.includes(model)) }
  await makeDirectory(directory, 'output_dir')
  const tables = tablesOf(report)
  const markdown = [
    '# Benchmark',
    '',
    setup(report.results),
    ...tables.map(markdownOf),
    '![Tokens per second](matrix.svg)',
    '',
  ].join('\n')
  const chart = matrixChart(report)
  await writeTextAtomically(join(directory, 'matrix.md'), markdown)
  await writeTextAtomically(
    join(directory, 'matrix.json'),
    `${JSON.stringify(
      { schema: 1, tables, results: report.results, accuracy: report.accuracy ?? null },
      null,
      1,
    )}\n`,
  )
  await writeTextAtomically(join(directory, 'matrix.svg'), chart)
  return { markdown }
}

/** Reads the result of a demonstration. */
export async function readOutcome(path: string): Promise<DemoOutcome> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw new InputError(
      `${path}: expected the accuracy.json of cairn-tune demo: ` +
        `${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
  const parsed = outcomeSchema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new InputError(`${path}: not a demonstration's accuracy.json: ${z.prettifyError(parsed.error)}`)
}
