/**
 * The specification's throughput table, filled with result files of several machines: one table per hardware
 * group, each with all of its models. Pure functions.
 */
import { RECIPES, RECIPE_TABLE, type Recipe } from '@cairn-tune/train/recipes'
import { isStreamed, type BenchmarkResult } from '../result.ts'
import {
  BASELINE_RECIPE,
  NOT_APPLICABLE,
  OWN_PROGRAM,
  UNMEASURED,
  formatCell,
  type Cell,
  type Table,
} from './tables.ts'

type ModelRow = { name: string; pattern: RegExp; isLarge: boolean; recipes: readonly Recipe[] }

/** A size in the name of a model: `Qwen/Qwen3-0.6B`, `qwen3-4b`, but not the 4B of 14B. */
const size = (text: string) => new RegExp(`(?<![\\d.])${text.replace('.', String.raw`\.`)}b(?![a-z0-9])`, 'i')

const row = (
  name: string,
  text: string,
  isLarge = false,
  recipes: readonly Recipe[] = RECIPES,
): ModelRow => ({
  name,
  pattern: size(text),
  isLarge,
  recipes,
})

/** The rows, in order. `isLarge`: only in groups with more than 32 GB. */
const MODELS: readonly ModelRow[] = [
  row('0.6B', '0.6'),
  row('1.7B', '1.7'),
  row('4B', '4'),
  row('8B', '8'),
  row('14B', '14', true),
  row('32B', '32', true),
  row('30B-A3B', '30'),
  // Distributed in MXFP4, so its base cannot be stored otherwise.
  row('20B-A4B', '20', false, ['qfp4']),
]

type Group = { title: string; card: RegExp; ranks: number; isLarge: boolean }

/** The hardware groups, in order. */
const GROUPS: readonly Group[] = [
  { title: 'One 32 GB consumer GPU', card: /RTX 5090\b/, ranks: 1, isLarge: false },
  { title: 'One 80 GB data-center GPU', card: /\b(?:A100|H100)\b.*80 ?GB/, ranks: 1, isLarge: true },
  { title: 'One data-center GPU with more memory', card: /\bH200\b/, ranks: 1, isLarge: true },
  { title: 'One Blackwell data-center GPU', card: /\bG?B200\b/, ranks: 1, isLarge: true },
  { title: 'One Blackwell Ultra data-center GPU', card: /\bG?B300\b/, ranks: 1, isLarge: true },
  { title: 'Four 32 GB consumer GPUs', card: /RTX 5090\b/, ranks: 4, isLarge: false },
]

const ranksOf = ({ config }: BenchmarkResult): number => Number(config['ranks'] ?? 1)

const isOf = (result: BenchmarkResult, { card, ranks }: Group) =>
  card.test(result.hardware) && ranksOf(result) === ranks

const modelOf = ({ model }: BenchmarkResult): ModelRow | undefined => {
  const name = model.replace(/\/+$/, '').split('/').at(-1) ?? model
  return MODELS.find(({ pattern }) => pattern.test(name))
}

/** Results that no row of the table has, by model. */
export const strangersOf = (results: readonly BenchmarkResult[]): string[] => [
  ...new Set(results.filter(result => !modelOf(result)).map(({ model }) => model)),
]

/** A whole run before a short one, and the newest of either. */
function bestOf(results: readonly BenchmarkResult[]): Cell {
  const sorted = results.toSorted(
    (a, b) => Number(b.is_short) - Number(a.is_short) || a.started_at.localeCompare(b.started_at),
  )
  return sorted.at(-1) ?? null
}

const cellText = (cell: Cell): string =>
  `${formatCell(cell)}${cell?.is_short && cell.outcome.status === 'ok' ? ' short' : ''}`

/** The table of each hardware group, and one for each other machine that was measured. */
export function publishedTables(results: readonly BenchmarkResult[]): Table[] {
  const others = [
    ...new Set(
      results.filter(result => !GROUPS.some(group => isOf(result, group))).map(({ hardware }) => hardware),
    ),
  ]
  return [
    ...GROUPS.map(group =>
      tableOf(
        group.title,
        MODELS.filter(model => group.isLarge || !model.isLarge),
        results.filter(result => isOf(result, group)),
      ),
    ),
    ...others.map(hardware => {
      const own = results.filter(result => result.hardware === hardware)
      return tableOf(
        hardware,
        MODELS.filter(model => own.some(result => modelOf(result) === model)),
        own,
      )
    }),
  ]
}

const BASELINES = [BASELINE_RECIPE, 'bf16']

function tableOf(title: string, models: readonly ModelRow[], results: readonly BenchmarkResult[]): Table {
  const find = (model: ModelRow, isOwn: boolean, recipe: string) =>
    bestOf(
      results.filter(
        result =>
          modelOf(result) === model && (result.program === OWN_PROGRAM) === isOwn && result.recipe === recipe,
      ),
    )
  const own = (model: ModelRow, recipe: Recipe): string => {
    const cell = find(model, true, recipe)
    return cell === null && !model.recipes.includes(recipe) ? NOT_APPLICABLE : cellText(cell)
  }
  const measured = results.filter(({ outcome }) => outcome.status === 'ok')
  const hardware = [...new Set(measured.map(result => result.hardware))].filter(text => text !== title)
  return {
    title,
    columns: [
      'Model',
      ...BASELINES.map(recipe => `baseline ${recipe.toUpperCase()}`),
      ...RECIPES.map(recipe => RECIPE_TABLE[recipe].column),
    ],
    rows: models.map(model => [
      model.name,
      ...BASELINES.map(recipe => cellText(find(model, false, recipe))),
      ...RECIPES.map(recipe => own(model, recipe)),
    ]),
    notes: [
      ...hardware.map(text => `Measured on ${text}.`),
      ...(measured.some(({ is_short: isShort }) => isShort)
        ? ['`short`: fewer samples or steps than the whole benchmark.']
        : []),
      ...(measured.some(isStreamed) ? ['`streamed`: the base was read from disk, layer by layer.'] : []),
    ],
  }
}

/** What the tables have in common. */
export const TABLES_NOTE =
  'Thousands of tokens per second: all tokens of all ranks, padding included, divided by the time of the ' +
  `steps. \`OOM\`: does not fit into memory. \`${NOT_APPLICABLE}\`: not applicable. \`${UNMEASURED}\`: not ` +
  'measured.'
