/** Counts the launches and bytes of a training step on a card without running it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { emulatorEnv } from '@cairn-tune/emulator'
import { createCudaEngine, type CudaEngine } from '@cairn-tune/native'
import { makeToolkit } from '@cairn-tune/native/test/fake-toolkit'
import { flatten, planMemory, recompute, type Program } from '@cairn-tune/program'
import { configOfShape, readConfig, type Recipe, type ShapeName } from '@cairn-tune/train'
import { recordMicroStep } from '../src/record-step.ts'
import { recordNorm, recordUpdate } from '../src/record-update.ts'
import { bytesOfSteps, modelProgram, stepsByLaunch, sumWork, type Group, type Work } from './model-step.ts'

/**
 * An engine on an emulated card of compute capability 9.0, whose kernels do nothing. It counts without nvcc.
 */
export async function createCountingEngine(): Promise<CudaEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-launches-'))
  const given = { ...process.env }
  try {
    Object.assign(process.env, {
      ...(await emulatorEnv({ CAIRN_EMULATOR_CAPABILITY: '90' })),
      CUDA_HOME: makeToolkit(folder),
    })
    return await createCudaEngine()
  } finally {
    for (const name of ['CAIRN_TUNE_CUDA_DRIVER', 'CAIRN_EMULATOR_CAPABILITY', 'CUDA_HOME'])
      if (given[name] === undefined) delete process.env[name]
      else process.env[name] = given[name]
    rmSync(folder, { recursive: true, force: true })
  }
}

export type Counts = {
  /** Launches by kernel. */
  kernels: Readonly<Record<string, number>>
  launches: number
  /** Bytes if each op reads each input and writes each output once, and ops that share a launch share those. */
  bytes: number
  arenaBytes: number
  scratchBytes: number
  /** By a model, not measured. */
  work: Record<Group, Work>
}

const DOCUMENTS = { count: 2, length: 2048 }

/** The micro-step of the benchmark: two rows of 2048 tokens, rank 16 on all projections; and what follows. */
export function countStep(
  engine: CudaEngine,
  shape: ShapeName,
  { recipe, logitRows = engine.logitRows }: { recipe: Recipe; logitRows?: number },
): { micro: Counts; norm: Counts; update: Counts } {
  const { count: rows, length } = DOCUMENTS
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
    groupsProducts: engine.groupsProducts,
  })
  return {
    micro: countProgram(engine, micro.program),
    norm: countProgram(engine, recordNorm(micro, config)),
    update: countProgram(engine, recordUpdate(micro, config)),
  }
}

function countProgram(engine: CudaEngine, recorded: Program): Counts {
  const program = recompute(recorded, { cheap: new Set(), whole: new Set() })
  const { placements, arenaBytes } = planMemory(program)
  const executable = engine.compile(flatten(program, placements))
  const kernels = engine.launches(executable)
  return {
    kernels,
    work: modelProgram(engine, program, DOCUMENTS),
    launches: Object.values(kernels).reduce((sum, count) => sum + count, 0),
    bytes: stepsByLaunch(engine, program).reduce((sum, steps) => sum + bytesOfSteps(steps), 0),
    arenaBytes,
    scratchBytes: engine.scratchBound(executable),
  }
}

/** Models with committed counts. */
export const STEP_SHAPES = ['qwen3-0.6b', 'qwen3-1.7b', 'qwen3-4b', 'qwen3-8b'] as const

/** What a step must not exceed: the committed counts have a row of these for each model. */
export function stepCounts(engine: CudaEngine, shape: ShapeName): Record<string, number> {
  const { micro, norm, update } = countStep(engine, shape, { recipe: 'bf16' })
  const work = sumWork(micro.work)
  return {
    launches: micro.launches,
    launches_of_update: norm.launches + update.launches,
    products: work.products,
    gigabytes: Math.ceil(work.bytes / 1e7) / 100,
    model_microseconds: Math.ceil(work.seconds * 1e6),
  }
}
