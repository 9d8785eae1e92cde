/**
 * Weights that stay on the disk while they are used: in the mapped file where it has them as the engine reads
 * them, and otherwise in a file of the run's own, written once as they are loaded.
 */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { mapSpool } from '@cairn-tune/native'
import { alignUp, byteLength } from '@cairn-tune/ops'
import type { BaseWeight } from './base-weights.ts'
import type { Checkpoint } from './checkpoint.ts'
import { InputError } from './errors.ts'

/** A weight begins on a page of its own, so that its pages can go without its neighbours'. */
const PAGE = 4096

type Spool = {
  /** Room for a weight, as a buffer whose pages may come and go. */
  take(weight: BaseWeight): DeviceBuffer
}

const pagesOf = ({ dtype, shape }: BaseWeight) => alignUp(byteLength(dtype, shape), PAGE)

/** Bytes of the file that has those weights. */
const spoolBytes = (weights: readonly BaseWeight[]): number =>
  weights.reduce((sum, weight) => sum + pagesOf(weight), 0)

/**
 * Makes the file in a directory; it has no name there, and is gone with the process. `checkpoint` is named
 * where there is no room.
 */
export async function openSpool(
  engine: Engine,
  directory: string,
  weights: readonly BaseWeight[],
  { directory: model }: Pick<Checkpoint, 'directory'>,
): Promise<Spool> {
  const bytes = spoolBytes(weights)
  const file = bytes > 0 ? await mapWithHint(directory, bytes, model) : new Uint8Array()
  let end = 0
  return {
    take(weight) {
      const from = end
      end += pagesOf(weight)
      return engine.adoptFile(file.subarray(from, from + byteLength(weight.dtype, weight.shape)))
    },
  }
}

async function mapWithHint(directory: string, bytes: number, model: string): Promise<Uint8Array> {
  try {
    return await mapSpool(directory, bytes)
  } catch (error) {
    throw new InputError(
      `offload: disk: cannot convert the weights of ${model} into a temporary file of ${bytes} bytes: ` +
        (error instanceof Error ? error.message : String(error)),
      { cause: error },
    )
  }
}
