/** A base model's weights as the engine takes them: mapped where the file's storage is the one wanted, else converted natively, one at a time. */
import { forgetPages, mapFile, type Engine } from '@cairn-tune/native'
import { FLOATS, byteLength, typeText, type Dtype, type Shape } from '@cairn-tune/ops'
import { createRecorder, prepare } from '@cairn-tune/program'
import { InputError, UnsupportedError, layoutOf, openCheckpoint, openFileBytes, readWeight, type ByteSource, type Checkpoint } from '@cairn-tune/weights'

/** A weight that a program asks for. */
export type Wanted = { name: string; dtype: Dtype; shape: Shape }

async function openMapped(path: string): Promise<ByteSource> {
  const file = await openFileBytes(path)
  if (file.byteLength === 0) return file
  await file.close()
  const bytes = await mapFile(path)
  return { path, byteLength: bytes.byteLength, read: async (offset, length) => bytes.subarray(offset, offset + length), close: async () => undefined }
}

export const openWeights = (directory: string): Promise<Checkpoint> => openCheckpoint(directory, openMapped)

/** What a matrix is stored as: the file's own quantised layout, else what was asked for. */
export function storageOf(checkpoint: Checkpoint, name: string, plain: Dtype): Dtype {
  return layoutOf(checkpoint, name) ?? plain
}

/** Name → bytes. */
export async function loadWeights(engine: Engine, checkpoint: Checkpoint, wanted: readonly Wanted[]): Promise<Map<string, Uint8Array>> {
  const buffers = new Map<string, Uint8Array>()
  for (const one of wanted) buffers.set(one.name, await loadOne(engine, checkpoint, one))
  return buffers
}

async function loadOne(engine: Engine, checkpoint: Checkpoint, { name, dtype, shape }: Wanted): Promise<Uint8Array> {
  const stored = await readWeight(checkpoint, name)
  const [got, expected] = [stored.shape.join(', '), shape.join(', ')]
  if (got !== expected) throw new InputError(`${checkpoint.pathOf(name)}: tensor ${JSON.stringify(name)} must have shape (${expected}), got (${got})`)
  if (stored.dtype === dtype) return stored.buffer
  if (!FLOATS.includes(stored.dtype)) throw new UnsupportedError(`${checkpoint.pathOf(name)}: ${JSON.stringify(name)} comes as ${typeText(stored)} and is not stored again as ${dtype}`)
  const g = createRecorder()
  const x = g.input('x', stored.dtype, shape)
  const { y } = dtype === 'f32' || dtype === 'bf16' ? g.cast({ x }, { dtype }) : g.quantize({ x }, { dtype })
  const buffer = engine.allocate(byteLength(dtype, shape))
  await prepare(engine, g.finish({ y })).run({ x: stored.buffer, 'out:y': buffer })
  await forgetPages(stored.buffer)
  return buffer
}
