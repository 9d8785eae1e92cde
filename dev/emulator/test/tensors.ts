/** Tiles of tensors as the emulated card must copy them, computed from the definition. */
import type { TensorMap } from './card.ts'

export type Tensor = Omit<TensorMap, 'of'> & { bytes: number }

const product = (sizes: readonly number[]): number => sizes.reduce((all, size) => all * size, 1)

export const tileBytes = ({ tile, bytes }: Tensor): number => product(tile) * bytes

/** NVIDIA's numbers of swizzles, by their span. */
const SPAN = [0, 32, 64, 128]

/** Where a byte of a tile lies in shared memory, from a multiple of 1024 on. */
function place(offset: number, swizzle: number): number {
  const span = SPAN[swizzle]!
  return span === 0 ? offset : offset ^ (((offset >> 7) & (span / 16 - 1)) << 4)
}

/** Calls `visit` with the offsets of each element in global memory, or -1 outside, and in shared memory. */
function eachElement(
  { sizes, strides, tile, bytes, swizzle }: Tensor,
  corner: readonly number[],
  visit: (global: number, shared: number) => void,
): void {
  for (let at = 0; at < product(tile); at++) {
    let rest = at
    let global = 0
    let inside = true
    for (const [d, size] of sizes.entries()) {
      const coordinate = corner[d]! + (rest % tile[d]!)
      rest = Math.floor(rest / tile[d]!)
      inside &&= coordinate >= 0 && coordinate < size
      global += coordinate * (d === 0 ? bytes : strides[d - 1]!)
    }
    visit(inside ? global : -1, place(at * bytes, swizzle))
  }
}

export function loadTile(tensor: Tensor, corner: readonly number[], from: Uint8Array): Uint8Array {
  const to = new Uint8Array(tileBytes(tensor))
  eachElement(tensor, corner, (global, shared) => {
    if (global >= 0) to.set(from.subarray(global, global + tensor.bytes), shared)
  })
  return to
}

export function storeTile(
  tensor: Tensor,
  corner: readonly number[],
  tile: Uint8Array,
  to: Uint8Array,
): Uint8Array {
  const after = to.slice()
  eachElement(tensor, corner, (global, shared) => {
    if (global >= 0) after.set(tile.subarray(shared, shared + tensor.bytes), global)
  })
  return after
}
