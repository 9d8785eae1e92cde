/** Loads the weights of a run and the starting point of its training. */
import type { DeviceBuffer } from '@cairn-tune/native'
import { MAGNITUDE } from '@cairn-tune/models'
import { floatsOf } from '@cairn-tune/ops'
import { createRecorder, outputBinding, prepare } from '@cairn-tune/program'
import { createF32Loader, loadBase } from '@cairn-tune/weights'
import { fillAdapter } from './adapter-init.ts'
import { openCheckpointTensors, type CheckpointState } from './checkpoint.ts'
import type { TrainConfig } from './config.ts'
import type { TrainOptions } from './metrics.ts'
import type { PreparedRun } from './prepare-run.ts'
import type { MicroStep } from './record-step.ts'
import { isBookkeeping, type StateTensor } from './record-update.ts'
import { createStepper, type Stepper } from './stepper.ts'

export type StartPoint = {
  found: CheckpointState | undefined
  /** Values of an existing adapter to continue training. */
  initial: ReadonlyMap<string, Float32Array> | undefined
}

/**
 * Loads the frozen weights and the starting point: a checkpoint, the model itself, or a new adapter.
 */
export async function startStepper(
  { engine, checkpoint, model, planned }: PreparedRun,
  config: TrainConfig,
  { found, initial }: StartPoint,
  { signal, onNote }: TrainOptions,
): Promise<Stepper> {
  const { micro } = planned
  const spoolIn = config.offload === 'disk' ? config.output_dir : undefined
  const base = await loadBase(engine, checkpoint, micro.base, { signal, spoolIn })
  const trained = micro.trained.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0)
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
    fill: found
      ? await openCheckpointTensors(engine, config.output_dir, found.step)
      : initialValues({ engine, checkpoint, micro, base }, config, initial),
  })
}

type Fillable = Pick<PreparedRun, 'engine' | 'checkpoint'> & {
  micro: MicroStep
  base: ReadonlyMap<string, DeviceBuffer>
}

/**
 * Initial values of a new run: a new adapter, or the model's own weights. Optimizer states start at zero.
 */
function initialValues(
  run: Fillable,
  { lora, seed, offload }: TrainConfig,
  initial: StartPoint['initial'],
): (tensor: StateTensor, buffer: DeviceBuffer) => Promise<void> {
  const { engine } = run
  const load = createF32Loader(engine, run.checkpoint)
  return async ({ name, shape }, buffer) => {
    if (isBookkeeping(name)) return
    const given = initial?.get(name)
    if (given) engine.write(buffer, given)
    else if (!lora) await load({ name, shape }, buffer)
    else if (name.endsWith(MAGNITUDE)) await fillMagnitudes(run, name, buffer, offload === 'disk')
    else engine.write(buffer, memory => fillAdapter(seed, { name, shape }, floatsOf(memory)))
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
