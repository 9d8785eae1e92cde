/** f16 scales by table lookup, because every block has one. */
const HALVES = new Float32Array(
  new Float16Array(Uint16Array.from({ length: 65536 }, (_, code) => code).buffer),
)

/** The f16 at a byte, which need not be aligned. */
export const halfAt = (bytes: Uint8Array, at: number): number =>
  HALVES[(bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)] ?? 0
