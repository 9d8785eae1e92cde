/**
 * Checkpoints: everything a run needs to resume as if it had never stopped.
 * `<output_dir>/checkpoints/step-<n>` appears whole or not at all.
 *
 * Everything random is a function of the seed and of the position (epoch, row, step), so those numbers are
 * the state of every generator.
 */
import { readFile, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { forgetPages, type DeviceBuffer, type Engine } from '@cairn-tune/native'
import { byteLength } from '@cairn-tune/ops'
import {
  InputError,
  checkTensor,
  inFileOrder,
  makeDirectories,
  openMapped,
  openSafetensors,
  writeSafetensors,
  writeTextAtomically,
} from '@cairn-tune/weights'
import { z } from 'zod'
import type { TrainConfig } from './config.ts'
import type { DataPosition } from './data/batches.ts'
import { partOfWhole, wholeOf } from './experts/expert-share.ts'
import type { StateTensor } from './record-update.ts'

const FOLDER = 'checkpoints'
const STATE = 'state.json'
const TENSORS = 'state.safetensors'

/** Rows of logits of all runs whose checkpoints do not name them. */
const OLD_LOGIT_ROWS = 512

const schema = z.object({
  version: z.literal(1),
  /** Completed steps. */
  step: z.int().nonnegative(),
  position: z.object({ epoch: z.int().nonnegative(), row: z.int().nonnegative() }),
  /** Settings that determine the results. A run resumes only with equal ones. */
  settings: z.looseObject({ logit_rows: z.int().positive().default(OLD_LOGIT_ROWS) }),
  /** Hashes of the data and the model. */
  data: z.string(),
  model: z.string(),
  /** Ranks of the run that wrote it. Any number can resume it. */
  ranks: z.int().positive().default(1),
})

export type CheckpointState = {
  step: number
  position: DataPosition
  settings: Record<string, unknown> & { logit_rows: number }
  data: string
  model: string
  ranks: number
}

/** Keys of a configuration that do not affect the results of a run in progress. */
const FREE: readonly (keyof TrainConfig)[] = [
  'model',
  'dataset',
  'dataset_columns',
  // The hash of the data covers the rendered conversations.
  'chat_template',
  'bad_rows',
  'eval_dataset',
  'eval_steps',
  'early_stopping_patience',
  'load_best_model_at_end',
  'report_to',
  'init_adapter',
  'output_dir',
  'save_steps',
  'save_total_limit',
  'resume',
  'overwrite',
  'recompute',
  'offload',
  'memory_limit',
  'device',
  'threads',
  'ranks',
  'rank_transport',
  'rank_timeout',
  'expert_parallel',
]

/**
 * The settings that determine a run's results. `totalSteps` replaces both epochs and steps, `microBatches`
 * are those of all ranks in a step. The plan chooses `logitRows`, and a run that resumes keeps those of its
 * checkpoint.
 */
export function decisiveSettings(
  config: TrainConfig,
  { totalSteps, logitRows, microBatches }: { totalSteps: number; logitRows: number; microBatches: number },
): CheckpointState['settings'] {
  const { num_train_epochs: _epochs, max_steps: _steps, ...rest } = config
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([key]) => !FREE.some(free => free === key))),
    gradient_accumulation_steps: microBatches,
    total_steps: totalSteps,
    logit_rows: logitRows,
  }
}

const nameOf = (step: number) => `step-${String(step).padStart(8, '0')}`

/** Steps with a checkpoint, ascending. */
export async function listCheckpoints(outputDir: string): Promise<number[]> {
  const names = await readdir(join(outputDir, FOLDER)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names
    .flatMap(name => /^step-(\d{8,})$/.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b)
}

/** Writes a checkpoint and removes the oldest beyond `keep`. */
export async function writeCheckpointState(
  outputDir: string,
  state: CheckpointState,
  read: (tensor: StateTensor) => Promise<Uint8Array>,
  tensors: readonly StateTensor[],
  maxCount: number,
): Promise<void> {
  const folder = join(outputDir, FOLDER)
  const temporary = join(folder, `.${nameOf(state.step)}.part`)
  await rm(temporary, { recursive: true, force: true })
  await makeDirectories(temporary)
  await writeSafetensors(
    join(temporary, TENSORS),
    tensors.map(tensor => ({
      name: tensor.name,
      ...storedAs(wholeOf(tensor)),
      bytes: () => read(tensor),
    })),
  )
  await writeTextAtomically(join(temporary, STATE), `${JSON.stringify({ version: 1, ...state }, null, 2)}\n`)
  const path = join(folder, nameOf(state.step))
  // A repeated step gives the same state, so either checkpoint is right.
  await rm(path, { recursive: true, force: true })
  await rename(temporary, path)
  const all = await listCheckpoints(outputDir)
  for (const step of all.slice(0, Math.max(0, all.length - maxCount)))
    await rm(join(folder, nameOf(step)), { recursive: true, force: true })
}

/** Tensors in the order in which a checkpoint's are read. */
export const inCheckpointOrder = (tensors: readonly StateTensor[]): StateTensor[] =>
  inFileOrder(tensors.map(tensor => ({ name: tensor.name, dtype: storedAs(tensor).dtype, tensor }))).map(
    ({ tensor }) => tensor,
  )

/** Stores f32 as such, other formats as bytes. */
const storedAs = ({ dtype, shape }: StateTensor) =>
  dtype === 'f32'
    ? { dtype: 'F32' as const, shape }
    : { dtype: 'U8' as const, shape: [byteLength(dtype, shape)] }

/** The newest complete checkpoint, without its tensors. Undefined if there is none. */
export async function findCheckpoint(outputDir: string): Promise<CheckpointState | undefined> {
  const step = (await listCheckpoints(outputDir)).at(-1)
  if (step === undefined) return undefined
  const path = join(outputDir, FOLDER, nameOf(step), STATE)
  const parsed = schema.safeParse(JSON.parse(await readFile(path, 'utf8')))
  if (!parsed.success)
    throw new InputError(`${path}: not a checkpoint of this version: ${z.prettifyError(parsed.error)}`)
  return parsed.data
}

/** Throws with the first difference between a checkpoint and the run that resumes from it. */
export function checkResumable(
  found: CheckpointState,
  wanted: Pick<CheckpointState, 'settings' | 'data' | 'model'>,
  outputDir: string,
): void {
  const refuse = (what: string) => {
    throw new InputError(
      `resume: the checkpoint in ${outputDir} ${what}; ` +
        'resume with the original settings or use another output_dir',
    )
  }
  for (const key of new Set([...Object.keys(found.settings), ...Object.keys(wanted.settings)])) {
    const [was, is] = [JSON.stringify(found.settings[key]), JSON.stringify(wanted.settings[key])]
    // The number of steps may change as long as it is not below the completed ones; the schedule follows the
    // new number.
    if (key === 'total_steps' && Number(is) >= found.step) continue
    if (was !== is) refuse(`has ${key} ${was}, not ${is}`)
  }
  if (found.model !== wanted.model) refuse('belongs to another base model')
  if (found.data !== wanted.data) refuse('belongs to other training data')
}

/** Reads a checkpoint's tensors into the run's buffers. */
export async function openCheckpointTensors(
  engine: Engine,
  outputDir: string,
  step: number,
): Promise<(tensor: StateTensor, target: DeviceBuffer) => Promise<void>> {
  const path = join(outputDir, FOLDER, nameOf(step), TENSORS)
  const file = await openSafetensors(path, openMapped)
  return async (tensor, target) => {
    const entry = file.tensors.get(tensor.name)
    const { dtype, shape } = storedAs(wholeOf(tensor))
    if (!entry) throw new InputError(`${path}: has no tensor ${JSON.stringify(tensor.name)}`)
    checkTensor(path, entry, [dtype], shape)
    const bytes = await file.read(tensor.name)
    engine.write(target, partOfWhole(bytes, tensor))
    await forgetPages(bytes)
  }
}
