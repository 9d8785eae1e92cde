import { loadDataset } from '@cairn-tune/train'
import { evaluate, RESULTS_FILE } from '@cairn-tune/bench'
import { join } from 'node:path'
import { defineCommand, takePositionals, wholeNumber } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'
import { showAnswers } from '../answers-progress.ts'

const HALF = 'test'

export const evalRun = defineCommand({
  name: 'eval',
  summary: 'Evaluate a served model: the gsm8k task of lm-evaluation-harness over /v1/completions',
  usage: [
    [
      'eval MODEL --url http://localhost:8001',
      'MODEL is the name of a base or an adapter on the server; ' +
        'greedy, no examples in the prompt, both filters',
    ],
    [
      '  --dataset NAME --split NAME --subset NAME',
      'data with the columns question and answer; default: the test split of problems:ro',
    ],
    ['  --limit N', 'only the first N questions'],
    [
      '  --output_path DIR',
      'directory of results.json and all answers; default: ./eval/<model>. ' +
        'The same command resumes an interrupted evaluation',
    ],
    [
      '  --num_concurrent N --max_retries N',
      'concurrent requests and attempts per request; default: 50 and 3',
    ],
  ],
  options: {
    url: { type: 'string' },
    dataset: { type: 'string', default: 'problems:ro' },
    split: { type: 'string', default: HALF },
    subset: { type: 'string' },
    limit: { type: 'string' },
    output_path: { type: 'string' },
    num_concurrent: { type: 'string' },
    max_retries: { type: 'string' },
    seed: { type: 'string' },
  },
  async run({ values, positionals }, io) {
    const [model] = takePositionals(positionals, [
      'the model or adapter to evaluate, by its name on the server',
    ])
    if (values.url === undefined)
      throw new UsageError('--url is required: the URL of the server, such as http://localhost:8001')
    const limit = wholeNumber('limit', values.limit, 2)
    const { examples, source } = await loadDataset(values.dataset, {
      env: io.env,
      split: values.split,
      subset: values.subset,
      seed: wholeNumber('seed', values.seed) ?? 42,
    })
    const questions = examples.slice(0, limit).map((example, i) => {
      if (example.kind !== 'question')
        throw new UsageError(`${source}: row ${i + 1} has no columns question and answer`)
      return example
    })
    const outputDir = values.output_path ?? join('eval', model.replaceAll('/', '__'))
    const key = io.env['OPENAI_API_KEY']
    const progress = showAnswers(io)
    try {
      const { scores, cut, resumed } = await evaluate({
        url: values.url,
        model,
        questions,
        source,
        outputDir,
        concurrency: wholeNumber('num_concurrent', values.num_concurrent, 1) ?? 50,
        attempts: wholeNumber('max_retries', values.max_retries, 1) ?? 3,
        signal: io.signal,
        onProgress: progress.answers,
        ...(key && { headers: { authorization: `Bearer ${key}` } }),
      })
      progress.end()
      if (resumed > 0) io.note(`reused ${resumed} answers of an earlier run`)
      if (cut > 0) io.note(`${cut} answers were cut off at 256 tokens`)
      if (values.json) io.out(`${JSON.stringify({ model, source, scores, cut, output_path: outputDir })}\n`)
      else
        for (const [filter, { accuracy, stderr, correct, total }] of Object.entries(scores))
          io.out(
            `${filter.padEnd(16)}  ${accuracy.toFixed(4)} ± ${stderr.toFixed(4)}  (${correct} of ${total})\n`,
          )
      io.note(join(outputDir, RESULTS_FILE))
      return EXIT.ok.code
    } finally {
      progress.end()
    }
  },
})
