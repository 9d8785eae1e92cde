import { OutOfMemoryError, bytesText, estimate, memoryText } from '@cairn-tune/train'
import type { Command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { CONFIG_FLAGS, configHelp, readConfigArgs } from '../run-config.ts'

export const estimateRun: Command = {
  name: 'estimate',
  summary: 'Estimate how much memory a run needs, without running it',
  usage: [
    [
      'estimate [CONFIG.yaml] [--key value …]',
      'print the parts of peak memory; if the run does not fit, print OOM and exit with code 3',
    ],
    ['  --memory 12GiB', 'maximum memory of the run; default: the free memory of this machine'],
  ],
  more: configHelp,
  flags: CONFIG_FLAGS,
  async run(argv, io) {
    const { config, json } = await readConfigArgs(argv)
    try {
      const { memory, budgetBytes, recomputed, rowsPerEpoch } = await estimate(config, {
        signal: io.signal,
        onNote: json ? () => undefined : io.note,
      })
      if (json)
        io.out(
          `${JSON.stringify({
            fits: true,
            memory,
            budget_bytes: budgetBytes,
            recomputed,
            rows_per_epoch: rowsPerEpoch,
          })}\n`,
        )
      else
        io.out(
          `${bytesText(memory.total)} of ${bytesText(budgetBytes)}` +
            `${config.ranks > 1 ? ` for each of ${config.ranks} ranks` : ''}: ${memoryText(memory)}; ` +
            `recomputed: ${recomputed}\n`,
        )
      return EXIT.ok.code
    } catch (error) {
      if (!json || !(error instanceof OutOfMemoryError)) throw error
      io.out(
        `${JSON.stringify({
          fits: false,
          needed_bytes: error.neededBytes,
          budget_bytes: error.budgetBytes,
          message: error.message,
        })}\n`,
      )
      return EXIT.memory.code
    }
  },
}
