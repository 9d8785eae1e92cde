/**
 * Evaluates single instructions: each row is an instruction with its inputs, lane by lane, and all rows are
 * one kernel. Values are bits.
 */
import { ptxOf, type Card } from './card.ts'

/** h, w, d: 16, 32, 64 bits; p: a predicate, whose bit 0 counts. */
type Width = 'h' | 'w' | 'd' | 'p'

export type Row = {
  /** `$d` is the result, `$a`, `$b`, `$c` are inputs, of the widths of `shape`. */ text: string
  shape: string
  inputs: readonly (readonly bigint[])[]
}

const LANES = 32
const bytes = { h: 2, w: 4, d: 8, p: 0 } as const

const declare = (width: Width, name: string): string =>
  width === 'p' ? `.reg .pred ${name};` : `.reg .b${bytes[width] * 8} ${name};`

function writeRow({ text, shape }: Row, at: number, stride: number): string {
  const names = ['d', 'a', 'b', 'c'].slice(0, shape.length)
  const widths = [...shape] as Width[]
  const lines = names.map((name, k) => declare(widths[k]!, `%${name}`))
  for (const [k, name] of names.entries()) {
    if (k === 0) continue
    const from = `[%in+${at * 3 * stride + (k - 1) * stride}]`
    if (widths[k] === 'p')
      lines.push(
        '.reg .b32 %bit;'.replace('bit', `bit${k}`),
        `ld.global.u32 %bit${k}, ${from};`,
        `setp.ne.u32 %${name}, %bit${k}, 0;`,
      )
    else lines.push(`ld.global.b${bytes[widths[k]!] * 8} %${name}, ${from};`)
  }
  lines.push(text.replace(/\$(?=[dabc])/g, '%'))
  const to = `[%to+${at * stride}]`
  if (widths[0] === 'p')
    lines.push('.reg .b32 %set;', 'selp.b32 %set, 1, 0, %d;', `st.global.u32 ${to}, %set;`)
  else lines.push(`st.global.b${bytes[widths[0]!] * 8} ${to}, %d;`)
  return `{\n${lines.join('\n')}\n}`
}

/** The results of each row: a bigint a lane. */
export function evaluate(card: Card, rows: readonly Row[], target = 'sm_80'): bigint[][] {
  const stride = LANES * 8
  const given = new BigUint64Array(rows.length * 3 * LANES)
  for (const [at, row] of rows.entries())
    for (const [k, input] of row.inputs.entries())
      for (let lane = 0; lane < LANES; lane++)
        given[(at * 3 + k) * LANES + lane] = BigInt.asUintN(64, input[lane % input.length]!)
  const body = `
.reg .b32 %lane; .reg .b64 %in, %to, %step;
mov.u32 %lane, %tid.x;
mul.wide.u32 %step, %lane, 8;
ld.param.u64 %in, [in];
add.s64 %in, %in, %step;
ld.param.u64 %to, [out];
add.s64 %to, %to, %step;
${rows.map((row, at) => writeRow(row, at, stride)).join('\n')}
ret;`
  const { status, message, buffers } = card.run({
    ptx: ptxOf(body, '.param .u64 in, .param .u64 out', target),
    kernel: 'kernel',
    args: [{ buffer: given }, { buffer: new BigUint64Array(rows.length * LANES) }],
    env: { CAIRN_EMULATOR_CAPABILITY: target.slice(3).replace('a', '') },
  })
  if (status !== 0) throw new Error(message)
  const results = new BigUint64Array(buffers[1]!)
  return rows.map((_, at) => [...results.subarray(at * LANES, (at + 1) * LANES)])
}

export const bits32 = (value: number): bigint => BigInt(new Uint32Array(Float32Array.of(value).buffer)[0]!)
export const float32 = (bits: bigint): number =>
  new Float32Array(Uint32Array.of(Number(bits & 0xffffffffn)).buffer)[0]!
export const bits64 = (value: number): bigint => new BigUint64Array(Float64Array.of(value).buffer)[0]!
export const float64 = (bits: bigint): number => new Float64Array(BigUint64Array.of(bits).buffer)[0]!
