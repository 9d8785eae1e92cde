/**
 * The dynamic 8-bit maps in which bitsandbytes stores block scales and optimizer states: 256 numbers whose
 * steps grow with their size.
 *
 * There are seven decades. The one that ends at 1 has 64 values of each sign (or 128 if there is only one
 * sign), each lower decade half as many. Values are the midpoints of even steps from 0.1 to 1 of their
 * decade, all in f32 and rounded as in bitsandbytes, so that the tables are bit-identical. Zero and one are
 * added.
 */
const f = Math.fround

export function dynamicMap(isSigned = true): Float32Array {
  const values = [0, 1]
  for (const [decade, size] of [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1].entries()) {
    const steps = 2 ** (isSigned ? decade : decade + 1)
    const step = f(f(1 - f(0.1)) / steps)
    // Bounds of the steps, counted from the nearer end and rounded once.
    const bound = (i: number) =>
      i < Math.floor((steps + 1) / 2) ? f(f(0.1) + step * i) : f(1 - step * (steps - i))
    for (let i = 0; i < steps; i++) {
      const value = f(f(f(bound(i) + bound(i + 1)) / 2) * f(size))
      values.push(value)
      if (isSigned) values.push(-value)
    }
  }
  return Float32Array.from(values).toSorted()
}
