import {
  BASELINES,
  checkPython,
  isMeasuredWith,
  readOutcome,
  readResults,
  runBaseline,
  runMatrix,
  writeMatrix,
  writePublished,
  type MatrixCell,
  type RunSettings,
} from '@cairn-tune/bench'
import { RECIPES, parseBytes, type Recipe } from '@cairn-tune/train'
import { makeDirectory } from '@cairn-tune/weights'
import { folderOf, isBundled } from '@cairn/tooling/beside'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CommandIo, defineCommand, wholeNumber } from '../command.ts'
import { EXIT, type ExitCode, UsageError } from '../exit.ts'

const script = (name: string) => join(fileURLToPath(folderOf(import.meta)), '../../../../benchmarks', name)

export const benchMatrix = defineCommand({
  name: 'bench matrix',
  summary: 'Measure throughput, relative speed and accuracy of models × recipes as tables and a chart',
  usage: [
    [
      'bench matrix MODEL …',
      'run the benchmark for each model and recipe, each in its own process; ' +
        'results measured with the same settings are kept',
    ],
    ['  --recipes a,b', `of ${RECIPES.join(', ')}; default: all`],
    [
      '  --samples N --max-steps N --memory SIZE --offload disk --threads N',
      'as in bench sft, for every run; cells of runs with --offload disk are marked `streamed`',
    ],
    [
      '  --baseline-python PATH',
      `also run benchmarks/baseline_pytorch.py (${BASELINES.join(', ')}) with this Python, on the ` +
        'same number of threads',
    ],
    ['  --baseline DIR', 'read the results of the baseline from this directory instead of running it'],
    ['  --accuracy FILE', 'accuracy.json written by cairn-tune demo, for the accuracy table'],
    [
      '  --output_dir DIR',
      'directory of the runs, matrix.md, matrix.json and matrix.svg; default: ./output/matrix',
    ],
    ['  --fresh', 'measure everything again'],
    [
      'bench matrix --results PATH [--results PATH …]',
      'measure nothing: write the whole throughput table, all machines and models, from result files ' +
        'or directories with result.json; cells without a result say TODO',
    ],
  ],
  options: {
    recipes: { type: 'string' },
    samples: { type: 'string' },
    'max-steps': { type: 'string' },
    memory: { type: 'string' },
    offload: { type: 'string' },
    threads: { type: 'string' },
    'baseline-python': { type: 'string' },
    baseline: { type: 'string' },
    accuracy: { type: 'string' },
    output_dir: { type: 'string', default: './output/matrix' },
    fresh: { type: 'boolean', default: false },
    results: { type: 'string', multiple: true, default: [] },
  },
  async run({ values, positionals }, io) {
    if (values.results.length > 0) {
      if (positionals.length > 0)
        throw new UsageError('--results reads existing results; leave out the models')
      return await publish(values, io)
    }
    if (isBundled(import.meta))
      throw new UsageError(
        'Packages of Cairn contain no benchmark scripts: run npx cairn-tune bench matrix in a clone of the ' +
          'repository',
      )
    const models = [...new Set(positionals)]
    if (models.length === 0)
      throw new UsageError('expected at least one model: a directory or a name on the hub')
    const recipes = readRecipes(values.recipes)
    const outputDir = values.output_dir
    const accuracy = values.accuracy === undefined ? undefined : await readOutcome(values.accuracy)
    // Check before any run, not in each of them.
    if (values.memory !== undefined) parseBytes(values.memory)
    const settings: RunSettings = {
      samples: wholeNumber('samples', values.samples, 1),
      maxSteps: wholeNumber('max-steps', values['max-steps'], 1),
      threads: wholeNumber('threads', values.threads, 1),
      memory: values.memory,
      offload: values.offload,
    }
    const given = values.baseline === undefined ? [] : await readResults(values.baseline)
    const strangers = new Set(given.map(({ model }) => model).filter(model => !models.includes(model)))
    if (strangers.size > 0)
      io.note(
        `${values.baseline}: ignored results of ${[...strangers].join(', ')}, which are not models ` +
          `of this matrix (${models.join(', ')})`,
      )
    const python = values['baseline-python']
    if (python !== undefined) await checkPython(python)
    await makeDirectory(outputDir, 'output_dir')
    const { failed } = await runMatrix({
      models,
      recipes,
      outputDir,
      command: [script('benchmark_sft.sh')],
      settings,
      fresh: values.fresh,
      signal: io.signal,
      onCell: cell => io.note(cellLine(cell)),
    })
    if (python !== undefined)
      await runBaseline({
        python,
        script: script('baseline_pytorch.py'),
        models,
        recipes: BASELINES,
        outputDir,
        settings,
        fresh: values.fresh,
        signal: io.signal,
        onNote: io.note,
      })
    // Includes what earlier calls measured in other recipes.
    const measured = (await readResults(outputDir)).filter(result => isMeasuredWith(result, settings))
    const results = [...given, ...measured]
    const { markdown } = await writeMatrix(outputDir, { models, results, accuracy })
    io.out(values.json ? `${JSON.stringify(results)}\n` : markdown)
    io.note(outputDir)
    if (failed > 0)
      io.note(`${failed} of ${models.length * recipes.length} runs failed; their messages are above`)
    return failed > 0 ? EXIT.failure.code : EXIT.ok.code
  },
})

async function publish(
  { results, output_dir: outputDir, json }: { results: readonly string[]; output_dir: string; json: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  const written = await writePublished(results, outputDir)
  io.out(json ? `${JSON.stringify(written.results)}\n` : written.markdown)
  if (written.strangers.length > 0)
    io.note(`no row of the table is for ${written.strangers.join(', ')}; their results were left out`)
  io.note(outputDir)
  return EXIT.ok.code
}

function readRecipes(text: string | undefined): readonly Recipe[] {
  if (text === undefined) return RECIPES
  return text.split(',').map(name => {
    const recipe = RECIPES.find(known => known === name.trim())
    if (recipe === undefined)
      throw new UsageError(`unknown recipe ${JSON.stringify(name)}; known: ${RECIPES.join(', ')}`)
    return recipe
  })
}

function cellLine(cell: MatrixCell): string {
  const name = `${cell.model} ${cell.recipe}`
  switch (cell.state) {
    case 'started':
      return `${name}: running`
    case 'kept':
      return `${name}: kept the earlier result; --fresh measures it again`
    case 'done':
      const { outcome } = cell.result
      return outcome.status === 'ok'
        ? `${name}: ${outcome.tokens_per_second.toFixed(0)} tokens/s`
        : `${name}: ${outcome.status}`
    case 'failed':
      return `${name}: ${cell.message}; its cell stays TODO`
  }
}
