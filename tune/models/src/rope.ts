/** Rotary position tables. */

/** For each position D/2 cosines, then D/2 sines, of position · theta^(−2i/D). */
export function ropeTable(positions: number, width: number, theta: number): Float32Array {
  const half = width / 2
  return Float32Array.from({ length: positions * width }, (_, i) => {
    const angle = Math.floor(i / width) * theta ** (-(i % half) / half)
    return i % width < half ? Math.cos(angle) : Math.sin(angle)
  })
}

/** Positions of packed documents: each counts from its own start. */
export function packedPositions(cuSeqlens: ArrayLike<number>): Int32Array {
  const bounds = Array.from(cuSeqlens)
  return Int32Array.from(
    bounds
      .slice(1)
      .flatMap((end, i) => Array.from({ length: end - (bounds[i] ?? 0) }, (_, position) => position)),
  )
}
