import { benchmarkSft, resultRow } from '@cairn-tune/bench/sft'
import { RECIPES } from '@cairn-tune/train'
import { defineCommand, wholeNumber } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'
import { showProgress } from '../progress.ts'

const USAGE = `usage: benchmark_sft.sh "<model_id>" <recipe>, recipe one of ${RECIPES.join(', ')}`

export const benchSft = defineCommand({
  name: 'bench sft',
  summary: 'Run the benchmark: train with the fixed configuration, save the adapter and print its result row',
  usage: [
    [
      'bench sft MODEL RECIPE',
      `RECIPE is one of ${RECIPES.join(', ')}; output goes to $OUTPUT_DIR/benchmark_sft_<recipe>/ ` +
        '(default of OUTPUT_DIR: ./output)',
    ],
    ['  --samples N --max-steps N', 'a short run, marked SHORT in the result row'],
    [
      '  --dataset NAME',
      'replaces OpenLLM-Ro/ro_gsm8k, or the generated problems used if that is not in the hub cache',
    ],
    [
      '  --skip-quant-first-layers N --skip-quant-last-layers N',
      'layers that stay bf16; recorded in the result row',
    ],
    ['  --matmul bf16|fp8-hybrid --memory SIZE --offload disk --threads N', 'as in train'],
    ['  --device auto|cpu|cuda[:n] --ranks N --expert-parallel N', 'as in train'],
  ],
  options: {
    samples: { type: 'string' },
    'max-steps': { type: 'string' },
    dataset: { type: 'string' },
    matmul: { type: 'string' },
    'skip-quant-first-layers': { type: 'string' },
    'skip-quant-last-layers': { type: 'string' },
    memory: { type: 'string' },
    offload: { type: 'string' },
    threads: { type: 'string' },
    device: { type: 'string' },
    ranks: { type: 'string' },
    'expert-parallel': { type: 'string' },
  },
  async run({ values, positionals }, io) {
    const [model, asked, ...more] = positionals
    const recipe = RECIPES.find(name => name === asked)
    if (model === undefined || asked === undefined || more.length > 0) throw new UsageError(USAGE)
    if (!recipe) throw new UsageError(`unknown recipe ${JSON.stringify(asked)}\n${USAGE}`)
    const progress = showProgress(io, { json: false })
    try {
      const { result, directory, status } = await benchmarkSft({
        model,
        recipe,
        outputDir: io.env['OUTPUT_DIR'] ?? './output',
        samples: wholeNumber('samples', values.samples, 1),
        maxSteps: wholeNumber('max-steps', values['max-steps'], 1),
        dataset: values.dataset,
        matmul: values.matmul,
        skipFirst: wholeNumber('skip-quant-first-layers', values['skip-quant-first-layers']),
        skipLast: wholeNumber('skip-quant-last-layers', values['skip-quant-last-layers']),
        memory: values.memory,
        offload: values.offload,
        threads: wholeNumber('threads', values.threads, 1),
        device: values.device,
        ranks: wholeNumber('ranks', values.ranks, 1),
        expertParallel: wholeNumber('expert-parallel', values['expert-parallel'], 1),
        signal: io.signal,
        onNote: progress.note,
        onStep: progress.step,
      })
      progress.end()
      if (status === 'interrupted' || !result) return EXIT.interrupted.code
      io.out(values.json ? `${JSON.stringify(result)}\n` : `${resultRow(result)}\n`)
      io.note(directory)
      return { ok: EXIT.ok.code, oom: EXIT.memory.code, unsupported: EXIT.unsupported.code }[
        result.outcome.status
      ]
    } finally {
      progress.end()
    }
  },
})
