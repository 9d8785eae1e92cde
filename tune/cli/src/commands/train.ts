import { train } from '@cairn-tune/train'
import type { Command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { showProgress } from '../progress.ts'
import { CONFIG_FLAGS, configHelp, readConfigArgs } from '../run-config.ts'

export const trainRun: Command = {
  name: 'train',
  summary: 'Train an adapter, or every weight with --lora false',
  usage: [
    [
      'train [CONFIG.yaml] [--key value …]',
      'write <output_dir>/adapter, metrics.jsonl, run.json and loss.svg',
    ],
    ['  --resume', 'resume from the last checkpoint; the result equals that of an uninterrupted run'],
    ['  --json', 'print one line of JSON per step, and one for the result'],
  ],
  more: configHelp,
  flags: CONFIG_FLAGS,
  async run(argv, io) {
    const { config, json } = await readConfigArgs(argv)
    const progress = showProgress(io, { json })
    try {
      const { status, output, steps, skippedRows, peakRssBytes, metrics, evaluations, opSeconds } =
        await train(config, {
          signal: io.signal,
          onNote: progress.note,
          onStep: progress.step,
        })
      progress.end()
      const last = metrics.at(-1)
      const best = evaluations.findLast(({ is_best: isBest }) => isBest)
      const leftOut =
        skippedRows > 0 ? `; skipped ${skippedRows} rows of the data, see run.json for the reasons` : ''
      if (json)
        io.out(
          `${JSON.stringify({
            status,
            output,
            steps,
            loss: last?.loss,
            skipped_rows: skippedRows,
            ...(best ? { eval_loss: best.loss, best_step: best.step } : {}),
            peak_rss_bytes: peakRssBytes,
            op_seconds: Object.fromEntries(opSeconds),
          })}\n`,
        )
      else
        io.note(
          status === 'finished'
            ? `${output}: ${steps} steps${last ? `, loss ${last.loss.toFixed(4)}` : ''}${leftOut}`
            : `interrupted after step ${steps}; the checkpoint is in ${config.output_dir}; ` +
                '--resume continues from it',
        )
      return status === 'finished' ? EXIT.ok.code : EXIT.interrupted.code
    } finally {
      progress.end()
    }
  },
}
