/** Writes what a matrix found: Markdown, JSON, and a chart as SVG and PNG. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { renderPng } from '@cairn-tune/train'
import { RECIPES, RECIPE_TABLE } from '@cairn-tune/train/recipes'
import { InputError, writeAll, writeAtomically, writeTextAtomically } from '@cairn-tune/weights'
import { z } from 'zod'
import { barChart } from '../bar-chart.ts'
import { outcomeSchema, type DemoOutcome } from '../demo/outcome.ts'
import { accuracyTables } from '../demo/accuracy-tables.ts'
import type { BenchmarkResult } from '../result.ts'
import { BASELINE_RECIPE, OWN_PROGRAM, formatCell, formatThousands, markdownOf, shortName, speedupTable, throughputTable, type Table } from './tables.ts'

export type MatrixReport = { models: readonly string[]; results: readonly BenchmarkResult[]; /** Of a demonstration, where there was one. */ accuracy?: DemoOutcome | undefined }

export const tablesOf = ({ models, results, accuracy }: MatrixReport): Table[] => [throughputTable({ models, results }), speedupTable({ models, results }), ...(accuracy ? accuracyTables(accuracy) : [])]

/** All runs were on one machine, or the notes say on which. */
function setup(results: readonly BenchmarkResult[]): string {
  const of = (pick: (result: BenchmarkResult) => string) => [...new Set(results.map(pick))].join('; ') || 'nothing measured'
  return [`- Machine: ${of(({ hardware }) => hardware)}`, `- Data: ${of(({ dataset, samples }) => `${dataset}, ${samples} samples`)}`, `- Programs: ${of(({ program, program_version: version }) => `${program} (${version})`)}`, ''].join('\n')
}

export function matrixChart({ models, results }: MatrixReport): string {
  const own = (recipe: string, isOwn: boolean) => (model: string) => results.findLast(result => result.model === model && result.recipe === recipe && (result.program === OWN_PROGRAM) === isOwn)
  const columns = [{ name: 'baseline NF4', find: own(BASELINE_RECIPE, false) }, { name: 'baseline BF16', find: own('bf16', false) }, ...RECIPES.map(recipe => ({ name: RECIPE_TABLE[recipe].column, find: own(recipe, true) }))]
  const groups = models.map(model => ({
    name: shortName(model),
    bars: columns.map(({ find }) => {
      const result = find(model)
      if (!result) return undefined
      return result.outcome.status === 'ok' ? result.outcome.tokens_per_second : formatCell(result)
    }),
  }))
  return barChart(groups, { title: 'Tokens per second', series: columns.map(({ name }) => name), format: formatThousands })
}

export async function writeMatrix(directory: string, report: MatrixReport): Promise<{ markdown: string }> {
  await mkdir(directory, { recursive: true })
  const tables = tablesOf(report)
  const markdown = ['# Benchmark', '', setup(report.results), ...tables.map(markdownOf), '![Tokens per second](matrix.svg)', ''].join('\n')
  const chart = matrixChart(report)
  const png = await renderPng(chart)
  await writeTextAtomically(join(directory, 'matrix.md'), markdown)
  await writeTextAtomically(join(directory, 'matrix.json'), `${JSON.stringify({ schema: 1, tables, results: report.results, accuracy: report.accuracy ?? null }, null, 1)}\n`)
  await writeTextAtomically(join(directory, 'matrix.svg'), chart)
  await writeAtomically(join(directory, 'matrix.png'), file => writeAll(file, png))
  return { markdown }
}

/** What a demonstration left. */
export async function readOutcome(path: string): Promise<DemoOutcome> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new InputError(`${path}: expected a demonstration's accuracy.json: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
  const parsed = outcomeSchema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new InputError(`${path}: not a demonstration's accuracy.json: ${z.prettifyError(parsed.error)}`)
}
