/** Counts the launches and bytes of a training step on a card without running it. */
import { byteLength } from '@cairn-tune/ops'
import type { CudaEngine } from '@cairn-tune/native'
import { flatten, inputTensors, outputTensors, planMemory, type Program } from '@cairn-tune/program'
import { configOfShape, readConfig, type Recipe, type ShapeName } from '@cairn-tune/train'
import { recordMicroStep } from '../src/record-step.ts'
import { recordNorm, recordUpdate } from '../src/record-update.ts'

export type Counts = {
  /** Launches by kernel. */
  kernels: Readonly<Record<string, number>>
  launches: number
  /** Bytes if each op reads each input and writes each output once. */
  bytes: number
  arenaBytes: number
  scratchBytes: number
}

/** The micro-step of the benchmark: two rows of 2048 tokens, rank 16 on all projections; and what follows. */
export function countStep(
  engine: CudaEngine,
  shape: ShapeName,
  { recipe, logitRows = engine.logitRows }: { recipe: Recipe; logitRows?: number },
): { micro: Counts; norm: Counts; update: Counts } {
  const [rows, length] = [2, 2048]
  const config = readConfig({
    flags: [
      '--model=random',
      '--dataset=none',
      `--recipe=${recipe}`,
      `--per_device_train_batch_size=${rows}`,
      `--max_seq_length=${length}`,
    ],
  })
  const micro = recordMicroStep(configOfShape(shape), config, {
    boundaries: rows + 1,
    plainDtype: () => 'bf16',
    logitRows,
    copiesAdapters: engine.convertsInLaunches,
  })
  return {
    micro: countProgram(engine, micro.program),
    norm: countProgram(engine, recordNorm(micro.trained, config)),
    update: countProgram(engine, recordUpdate(micro, config)),
  }
}

function countProgram(engine: CudaEngine, program: Program): Counts {
  const { placements, arenaBytes } = planMemory(program)
  const executable = engine.compile(flatten(program, placements))
  const kernels = engine.launches(executable)
  return {
    kernels,
    launches: Object.values(kernels).reduce((sum, count) => sum + count, 0),
    bytes: program.steps
      .flatMap(step => [...inputTensors(step), ...outputTensors(step)])
      .reduce((sum, { dtype, shape }) => sum + byteLength(dtype, shape), 0),
    arenaBytes,
    scratchBytes: engine.scratchBound(executable),
  }
}
