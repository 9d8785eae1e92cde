/** Weights of which some rows are trained: the whole matrices follow the rows after each step. */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import type { MicroStep } from './record-step.ts'
import { rowsName } from './trained-weights.ts'

/** Copies the trained rows, which are part of the state, to the matrices that programs read. */
export async function writeTrainedRows(
  engine: Engine,
  trained: MicroStep['tables'],
  tables: ReadonlyMap<string, DeviceBuffer>,
  state: ReadonlyMap<string, DeviceBuffer>,
): Promise<void> {
  for (const { name, shape, rows } of trained) {
    const [table, own] = [tables.get(name), state.get(rowsName(name))]
    if (!table || !own) throw new Error(`[writeTrainedRows] no matrix ${name}`)
    const bytes = await engine.read(own)
    const width = (shape[1] ?? 0) * 4
    for (const [i, id] of rows.entries())
      engine.write(table, bytes.slice(i * width, (i + 1) * width), id * width)
  }
}
