/** NF4 (QLoRA): sixteen quantiles of a normal distribution scaled to [-1, 1]. */

export const NF4_TABLE = Float32Array.of(
  -1,
  -0.6961928009986877,
  -0.5250730514526367,
  -0.39491748809814453,
  -0.28444138169288635,
  -0.18477343022823334,
  -0.09105003625154495,
  0,
  0.07958029955625534,
  0.16093020141124725,
  0.24611230194568634,
  0.33791524171829224,
  0.44070982933044434,
  0.5626170039176941,
  0.7229568362236023,
  1,
)

/** Code of the nearest entry. Halfway between two it is the lower. */
export const encodeNf4 = (value: number) => encodeNearest(NF4_TABLE, value)

/** Index of the nearest entry of an ascending table. */
export function encodeNearest(table: Float32Array, value: number): number {
  let low = 0
  let high = table.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    const boundary = Math.fround(Math.fround((table[middle] ?? 0) + (table[middle + 1] ?? 0)) / 2)
    if (value > boundary) low = middle + 1
    else high = middle
  }
  return low
}
