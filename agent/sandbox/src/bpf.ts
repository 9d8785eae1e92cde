/**
 * A small assembler for classic BPF, the language of seccomp filters: 8-byte instructions, forward jumps
 * only. Parts are nested instead of labeled: the guarded part follows its test and ends with a return, so the
 * jump offset is its length.
 */
type Instruction = { code: number; jt: number; jf: number; k: number }
export type Program = readonly Instruction[]

const LOAD_WORD = 0x20
const AND = 0x54
const JUMP_EQUAL = 0x15
const JUMP_AT_LEAST = 0x35
const JUMP_ANY_BIT = 0x45
const RETURN = 0x06
const MAX_JUMP = 255

const plain = (code: number, k: number): Program => [{ code, jt: 0, jf: 0, k: k >>> 0 }]

export const loadWord = (offset: number): Program => plain(LOAD_WORD, offset)
export const and = (mask: number): Program => plain(AND, mask)
export const giveBack = (value: number): Program => plain(RETURN, value)

/** `then` runs if the test holds, and must not run past its end. */
function guard(code: number, k: number, then: readonly Program[]): Program {
  const body = then.flat()
  if (body.length > MAX_JUMP) throw new Error(`[bpf] a jump over ${body.length} instructions is too long`)
  return [{ code, jt: 0, jf: body.length, k: k >>> 0 }, ...body]
}
export const ifEqual = (k: number, ...then: Program[]): Program => guard(JUMP_EQUAL, k, then)
export const ifAtLeast = (k: number, ...then: Program[]): Program => guard(JUMP_AT_LEAST, k, then)
export const ifAnyBit = (mask: number, ...then: Program[]): Program => guard(JUMP_ANY_BIT, mask, then)

/** The kernel's format: `struct sock_filter`, little-endian like both architectures. */
export function assemble(program: Program): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, { code, jt, jf, k }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(jt, index * 8 + 2)
    bytes.writeUInt8(jf, index * 8 + 3)
    bytes.writeUInt32LE(k, index * 8 + 4)
  }
  return bytes
}
