/**
 * Weights that stay on disk while they are used: in the mapped file if it has the engine's format, otherwise
 * in a file of the run, written once during loading.
 */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { mapSpool } from '@cairn-tune/native'
import { alignUp, byteLength } from '@cairn-tune/ops'
import type { BaseWeight, Checkpoint } from './checkpoint.ts'
import { InputError } from './errors.ts'

/** A weight starts on its own page, so that its pages can be released without its neighbours'. */
const PAGE = 4096

type Spool = {
  /** Allocates a weight as a buffer whose pages can be released and reloaded. */
  take(weight: BaseWeight): DeviceBuffer
}

const pagesOf = ({ dtype, shape }: BaseWeight) => alignUp(byteLength(dtype, shape), PAGE)

/** Size of the file for those weights. */
const spoolBytes = (weights: readonly BaseWeight[]): number =>
  weights.reduce((sum, weight) => sum + pagesOf(weight), 0)

/**
 * Creates the file, without a name, in a directory; it is deleted with the process. The error for a full disk
 * names `checkpoint`.
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
