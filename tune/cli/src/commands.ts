/** Every command, in the order of the help text. */
import type { Command } from './command.ts'
import { benchMatrix } from './commands/bench-matrix.ts'
import { benchSft } from './commands/bench-sft.ts'
import { dataGenerate } from './commands/data-generate.ts'
import { demo } from './commands/demo.ts'
import { doctor } from './commands/doctor.ts'
import { estimateRun } from './commands/estimate.ts'
import { evalRun } from './commands/eval.ts'
import { exportRun } from './commands/export.ts'
import { helpFor } from './commands/help.ts'
import { merge } from './commands/merge.ts'
import { modelNew } from './commands/model-new.ts'
import { ops } from './commands/ops.ts'
import { recipes } from './commands/recipes.ts'
import { serveRun } from './commands/serve.ts'
import { trainRun } from './commands/train.ts'

export const commands: readonly Command[] = [
  trainRun,
  estimateRun,
  recipes,
  merge,
  exportRun,
  modelNew,
  dataGenerate,
  serveRun,
  benchSft,
  benchMatrix,
  evalRun,
  demo,
  ops,
  doctor,
  helpFor(() => commands),
]
