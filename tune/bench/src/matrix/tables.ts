/** The throughput tables in the spec's shape, and their Markdown. Pure functions. */
import { RECIPES, RECIPE_TABLE } from '@cairn-tune/train/recipes'
import { isStreamed, type BenchmarkResult } from '../result.ts'

/** `null` is a cell that was never run. */
export type Cell = BenchmarkResult | null

/** A table as printed. The first column names the row. */
export type Table = {
  title: string
  columns: readonly string[]
  rows: readonly (readonly string[])[]
  notes: readonly string[]
}

/** The baseline's recipe that speed-ups are measured against. */
export const BASELINE_RECIPE = 'nf4'
export const OWN_PROGRAM = 'cairn-tune'

export const NOT_APPLICABLE = '-'
export const UNMEASURED = 'TODO'

/** Thousands with three significant digits: 0.35k, 8.41k, 18.3k, 121k. */
export function formatThousands(tokensPerSecond: number): string {
  const thousands = tokensPerSecond / 1000
  return `${thousands.toFixed(thousands >= 100 ? 0 : thousands >= 10 ? 1 : 2)}k`
}

/** Text of a throughput cell. */
export function formatCell(cell: Cell): string {
  if (cell === null) return UNMEASURED
  switch (cell.outcome.status) {
    case 'ok':
      return `${formatThousands(cell.outcome.tokens_per_second)}${isStreamed(cell) ? ' streamed' : ''}`
    case 'oom':
      return 'OOM'
    case 'unsupported':
      return NOT_APPLICABLE
  }
}

const tpsOf = (cell: Cell | undefined) =>
  cell?.outcome.status === 'ok' ? cell.outcome.tokens_per_second : undefined

type Grid = { models: readonly string[]; results: readonly BenchmarkResult[] }

const find = (
  results: readonly BenchmarkResult[],
  model: string,
  isProgram: (program: string) => boolean,
  recipe: string,
): Cell =>
  results.findLast(
    result => result.model === model && isProgram(result.program) && result.recipe === recipe,
  ) ?? null
const isOwn = (program: string) => program === OWN_PROGRAM
const isOther = (program: string) => program !== OWN_PROGRAM

const ownColumns = RECIPES.map(recipe => RECIPE_TABLE[recipe].column)

/** Columns of the baseline: always NF4 and BF16, as in the spec, and any other recipe it ran. */
export function baselineRecipes(results: readonly BenchmarkResult[]): string[] {
  return [
    ...new Set([
      BASELINE_RECIPE,
      'bf16',
      ...results.filter(({ program }) => isOther(program)).map(({ recipe }) => recipe),
    ]),
  ]
}

/** Tokens a second of each model in each recipe, and of the baseline. */
export function throughputTable({ models, results }: Grid): Table {
  const others = baselineRecipes(results)
  return {
    title: 'Throughput, tokens per second',
    columns: ['Model', ...others.map(recipe => `baseline ${recipe.toUpperCase()}`), ...ownColumns],
    rows: models.map(model => [
      nameAmong(models, model),
      ...others.map(recipe => formatCell(find(results, model, isOther, recipe))),
      ...RECIPES.map(recipe => formatCell(find(results, model, isOwn, recipe))),
    ]),
    notes: [
      'All trained token slots divided by the step time of the whole run. `OOM`: ' +
        'does not fit into memory. `-`: not applicable. `TODO`: not measured.',
      ...(results.some(isStreamed) ? ['`streamed`: the base was read from disk, layer by layer.'] : []),
      ...(results.some(({ is_short }) => is_short)
        ? ['Short runs: fewer samples or steps than the full benchmark.']
        : []),
    ],
  }
}

/**
 * Each recipe's rate divided by the baseline's NF4 rate, from unrounded figures; `-` if either is missing.
 */
export function speedupTable({ models, results }: Grid): Table {
  return {
    title: 'Speed relative to the baseline in NF4',
    columns: ['Model', ...ownColumns],
    rows: models.map(model => {
      const reference = tpsOf(find(results, model, isOther, BASELINE_RECIPE))
      return [
        nameAmong(models, model),
        ...RECIPES.map(recipe => {
          const own = tpsOf(find(results, model, isOwn, recipe))
          return own === undefined || reference === undefined
            ? NOT_APPLICABLE
            : `${(own / reference).toFixed(2)}x`
        }),
      ]
    }),
    notes: ['Computed before rounding. `-`: one of the two was not measured.'],
  }
}

export function markdownOf({ title, columns, rows, notes }: Table): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map(cell => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`
  return [
    `## ${title}`,
    '',
    line(columns),
    line(columns.map((_, i) => (i === 0 ? '---' : '---:'))),
    ...rows.map(line),
    ...notes.flatMap(note => ['', note]),
    '',
  ].join('\n')
}

/** The last part of a path or of a hub name. */
const shortName = (model: string) => model.replace(/\/+$/, '').split('/').at(-1) ?? model

/**
 * A model's label in rows and folders: its short name, or the whole name if another model has the same short
 * one.
 */
export const nameAmong = (models: readonly string[], model: string) =>
  models.some(other => other !== model && shortName(other) === shortName(model)) ? model : shortName(model)

/** Folder of a model's runs, inside that of the matrix. */
export const folderAmong = (models: readonly string[], model: string) =>
  nameAmong(models, model)
    .split('/')
    .filter(part => part !== '' && part !== '.')
    .join('--')
