/** Loads the weights of a run and the starting point of its training. */
import type { DeviceBuffer } from '@cairn-tune/native'
import { MAGNITUDE } from '@cairn-tune/models'
import { countElements, floatsOf, type Shape } from '@cairn-tune/ops'
import { createRecorder, outputBinding, prepare } from '@cairn-tune/program'
import { EMBEDDINGS, HEAD, createF32Loader, loadBase } from '@cairn-tune/weights'
import { fillAdapter } from './adapter-init.ts'
import { openCheckpointTensors, type CheckpointState } from './checkpoint.ts'
import type { TrainConfig } from './config.ts'
import { partOfWhole, wholeOf } from './experts/expert-share.ts'
import type { TrainOptions } from './metrics.ts'
import type { PreparedRun } from './prepare-run.ts'
import type { RankGroup, Share } from './ranks/group.ts'
import type { MicroStep } from './record-step.ts'
import { isBookkeeping, type StateTensor } from './record-update.ts'
import { createStepper, type Stepper } from './stepper.ts'
import { rowsName } from './trained-weights.ts'

export type StartPoint = {
  found: CheckpointState | undefined
  /** Values of an existing adapter to continue training. */
  initial: ReadonlyMap<string, Float32Array> | undefined
  /** The ranks of the run, if there are several, and this one's share of a step. */
  group?: RankGroup | undefined
  share?: Share | undefined
}

/**
 * Loads the frozen weights and the starting point: a checkpoint, the model itself, or a new adapter.
 */
export async function startStepper(
  { engine, checkpoint, model, planned, newRows }: PreparedRun,
  config: TrainConfig,
  { found, initial, group, share }: StartPoint,
  { signal, onNote }: TrainOptions,
): Promise<Stepper> {
  const { micro } = planned
  const spoolIn = config.offload === 'disk' ? config.output_dir : undefined
  const base = await loadBase(engine, checkpoint, micro.base, { signal, spoolIn })
  const load = createTableLoader(engine, checkpoint, newRows)
  const tables = new Map<string, DeviceBuffer>()
  for (const { name, shape } of micro.tables) {
    const buffer = engine.allocate(countElements(shape) * 4)
    await load({ name, shape }, buffer)
    tables.set(name, buffer)
  }
  const trained = micro.trained.reduce((sum, one) => sum + countElements(wholeOf(one).shape), 0)
  onNote?.(
    `${micro.base.length} base weights, ${trained.toLocaleString('en')} numbers trained, ` +
      `${engine.threads} threads, ${engine.isa}`,
  )
  return await createStepper({
    engine,
    config,
    model,
    micro,
    planned,
    base,
    tables,
    group,
    share,
    fill: found
      ? await openCheckpointTensors(engine, config.output_dir, found.step)
      : initialValues({ engine, load, micro, base, tables }, config, initial),
  })
}

type TableLoader = (weight: { name: string; shape: Shape }, target: DeviceBuffer) => Promise<void>

type Fillable = Pick<PreparedRun, 'engine'> & {
  micro: MicroStep
  base: ReadonlyMap<string, DeviceBuffer>
  tables: ReadonlyMap<string, DeviceBuffer>
  load: TableLoader
}

/**
 * Loads weights in f32. Rows of new tokens are the mean of the rows before them, so that each is as likely as
 * an average token; a matrix with more tokens than the file's has nothing else behind the file's rows.
 */
function createTableLoader(
  engine: PreparedRun['engine'],
  checkpoint: PreparedRun['checkpoint'],
  newRows: readonly number[],
): TableLoader {
  const load = createF32Loader(engine, checkpoint)
  return async ({ name, shape }, target) => {
    if (newRows.length === 0 || (name !== EMBEDDINGS && name !== HEAD))
      return await load({ name, shape }, target)
    const [rows = 0, columns = 0] = shape
    const width = columns * 4
    const stored = Math.min(rows, checkpoint.tensors.get(name)?.shape[0] ?? rows)
    await load({ name, shape: [stored, columns] }, engine.part(target, 0, stored * width))
    const known = newRows[0] ?? 0
    const values = floatsOf(await engine.read(engine.part(target, 0, Math.min(known, stored) * width)))
    const mean = new Float64Array(columns)
    for (let i = 0; i < values.length; i++)
      mean[i % columns] = (mean[i % columns] ?? 0) + (values[i] ?? 0) / (values.length / columns)
    const row = Float32Array.from(mean)
    for (const id of newRows) engine.write(target, row, id * width)
  }
}

/**
 * Initial values of a new run: a new adapter, or the model's own weights. Optimizer states start at zero.
 */
function initialValues(
  run: Fillable,
  { lora, seed, offload }: TrainConfig,
  initial: StartPoint['initial'],
): (tensor: StateTensor, buffer: DeviceBuffer) => Promise<void> {
  const { engine, load, micro, tables } = run
  return async ({ name, shape, slice }, buffer) => {
    if (isBookkeeping(name)) return
    const given = initial?.get(name)
    const table = micro.tables.find(one => rowsName(one.name) === name)
    if (given) engine.write(buffer, partOfWhole(given, { shape, slice }))
    else if (table) await copyRows(engine, table, tables.get(table.name), buffer)
    else if (!lora || !name.includes('.lora_')) await load({ name, shape }, buffer)
    else if (name.endsWith(MAGNITUDE)) await fillMagnitudes(run, name, buffer, offload === 'disk')
    else engine.write(buffer, memory => fillAdapter(seed, { name, shape, slice }, floatsOf(memory)))
  }
}

/** Copies the trained rows of a matrix. */
async function copyRows(
  engine: PreparedRun['engine'],
  { shape, rows }: MicroStep['tables'][number],
  table: DeviceBuffer | undefined,
  target: DeviceBuffer,
): Promise<void> {
  const width = (shape[1] ?? 0) * 4
  if (!table) throw new Error('[copyRows] no matrix')
  for (const [i, id] of rows.entries()) {
    const row = await engine.read(engine.part(table, id * width, (id + 1) * width))
    engine.write(target, row.slice(), i * width)
  }
}

/** Row lengths of a base weight in its stored form, so that the first step computes the unmodified base. */
async function fillMagnitudes(
  { engine, micro, base }: Fillable,
  name: string,
  buffer: DeviceBuffer,
  isStreamed: boolean,
): Promise<void> {
  const weightName = `${name.slice(0, -MAGNITUDE.length)}.weight`
  const [stored, weight] = [micro.base.find(one => one.name === weightName), base.get(weightName)]
  if (!stored || !weight) throw new Error(`${name} does not match a base weight`)
  const g = createRecorder()
  const y = g.row_norms({ weight: g.input('weight', stored.dtype, stored.shape) }, { alpha: 1 }).y
  await prepare(engine, g.finish({ y })).run({ weight, [outputBinding('y')]: buffer })
  if (isStreamed) engine.letGo(weight)
}
