/** Every command, in the order of the help text. */
import { completionCommand } from '@cairn/tooling/cli/completion'
import { helpCommand } from '@cairn/tooling/cli/help'
import { CAIRN_TUNE, type Command } from './command.ts'
import { benchMatrix } from './commands/bench-matrix.ts'
import { benchSft } from './commands/bench-sft.ts'
import { dataGenerate } from './commands/data-generate.ts'
import { dataShow } from './commands/data-show.ts'
import { demo } from './commands/demo.ts'
import { doctor } from './commands/doctor.ts'
import { estimateRun } from './commands/estimate.ts'
import { evalRun } from './commands/eval.ts'
import { exportRun } from './commands/export.ts'
import { merge } from './commands/merge.ts'
import { modelNew } from './commands/model-new.ts'
import { ops } from './commands/ops.ts'
import { recipes } from './commands/recipes.ts'
import { serveRun } from './commands/serve.ts'
import { trainRun } from './commands/train.ts'
import { EXIT } from './exit.ts'

export const commands: readonly Command[] = [
  trainRun,
  estimateRun,
  recipes,
  merge,
  exportRun,
  modelNew,
  dataGenerate,
  dataShow,
  serveRun,
  benchSft,
  benchMatrix,
  evalRun,
  demo,
  ops,
  doctor,
  completionCommand(CAIRN_TUNE, async () => commands),
  helpCommand(CAIRN_TUNE, {
    commands: async () => commands,
    note: 'Every command takes --help and --json. Results go to stdout, everything else to stderr.',
    exitCodes: EXIT,
  }),
]
