import { BASELINES, readOutcome, readResults, runBaseline, runMatrix, writeMatrix, type MatrixCell } from '@cairn-tune/bench'
import { RECIPES, type Recipe } from '@cairn-tune/train'
import { fileURLToPath } from 'node:url'
import { defineCommand, wholeNumber } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

const script = (name: string) => fileURLToPath(new URL(`../../../../benchmarks/${name}`, import.meta.url))

export const benchMatrix = defineCommand({
  name: 'bench matrix',
  summary: 'Throughput, relative speed and accuracy of models × recipes as tables and a chart',
  usage: [
    ['bench matrix MODEL …', 'runs the benchmark of each model in each recipe, each in a process of its own; what is measured already is kept'],
    ['  --recipes a,b', `of ${RECIPES.join(', ')}; all unless given`],
    ['  --samples N --max-steps N --memory SIZE --threads N', 'as in bench sft, for every run'],
    ['  --baseline-python PATH', `also runs benchmarks/baseline_pytorch.py (${BASELINES.join(', ')}) with that Python, on the same threads`],
    ['  --baseline DIR', 'reads results of the baseline from there instead'],
    ['  --accuracy FILE', "a demonstration's accuracy.json, for the accuracy table"],
    ['  --output_dir DIR', 'for the runs and matrix.md, matrix.json, matrix.svg, matrix.png (./output/matrix unless given)'],
    ['  --fresh', 'measures everything anew'],
  ],
  options: {
    recipes: { type: 'string' }, samples: { type: 'string' }, 'max-steps': { type: 'string' }, memory: { type: 'string' }, threads: { type: 'string' },
    'baseline-python': { type: 'string' }, baseline: { type: 'string' }, accuracy: { type: 'string' }, output_dir: { type: 'string', default: './output/matrix' }, fresh: { type: 'boolean', default: false },
  },
  async run({ values, positionals: models }, io) {
    if (models.length === 0) throw new UsageError('expected at least one model: a directory or a name on the hub')
    const recipes = readRecipes(values.recipes)
    const outputDir = values.output_dir
    const accuracy = values.accuracy === undefined ? undefined : await readOutcome(values.accuracy)
    const shared = (['samples', 'max-steps', 'threads'] as const).flatMap(name => {
      const count = wholeNumber(name, values[name], 1)
      return count === undefined ? [] : [`--${name}`, String(count)]
    })
    const flags = values.memory === undefined ? shared : [...shared, '--memory', values.memory]
    const given = values.baseline === undefined ? [] : await readResults(values.baseline)
    const own = await runMatrix({ models, recipes, outputDir, command: [script('benchmark_sft.sh')], flags, fresh: values.fresh, signal: io.signal, onCell: cell => io.note(cellLine(cell)) })
    const python = values['baseline-python']
    const baseline = python === undefined ? [] : await runBaseline({ python, script: script('baseline_pytorch.py'), models, recipes: BASELINES, outputDir, flags: shared, signal: io.signal, onNote: io.note })
    const results = [...given, ...baseline, ...own]
    const { markdown } = await writeMatrix(outputDir, { models, results, accuracy })
    io.out(values.json ? `${JSON.stringify(results)}\n` : markdown)
    io.note(outputDir)
    return EXIT.ok.code
  },
})

function readRecipes(text: string | undefined): readonly Recipe[] {
  if (text === undefined) return RECIPES
  return text.split(',').map(name => {
    const recipe = RECIPES.find(known => known === name.trim())
    if (recipe === undefined) throw new UsageError(`unknown recipe ${JSON.stringify(name)}; there are ${RECIPES.join(', ')}`)
    return recipe
  })
}

function cellLine(cell: MatrixCell): string {
  const name = `${cell.model} ${cell.recipe}`
  switch (cell.state) {
    case 'started': return `${name}: running`
    case 'kept': return `${name}: measured before; --fresh measures it anew`
    case 'done': return `${name}: ${cell.result.outcome.status === 'ok' ? `${cell.result.outcome.tokens_per_second.toFixed(0)} tokens/s` : cell.result.outcome.status}`
    case 'failed': return `${name}: ${cell.message}; its cell stays TODO`
  }
}
