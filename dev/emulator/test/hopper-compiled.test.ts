/** Kernels compiled for sm_90a by nvcc, where there is one. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findNvcc, nvccCandidates } from '@cairn-tune/native'
import { openCard, type Card, type Launch } from './card.ts'

const nvcc = findNvcc(nvccCandidates(process.env))
const source = fileURLToPath(new URL('data/hopper.cu', import.meta.url))
const env = { CAIRN_EMULATOR_CAPABILITY: '90' }

const bf16 = (values: readonly number[]) =>
  Uint16Array.from(values, value => new Uint32Array(Float32Array.of(value).buffer)[0]! >>> 16)

if (nvcc !== undefined) {
  describe('kernels that nvcc compiles for sm_90a', () => {
    let card: Card
    const folder = mkdtempSync(join(tmpdir(), 'cairn-hopper-'))
    const compile = (...defines: string[]): string => {
      const to = join(folder, `hopper${defines.join('')}.ptx`)
      execFileSync(nvcc.command, ['-ptx', '-arch=sm_90a', '-std=c++17', ...defines, '-o', to, source])
      return readFileSync(to, 'utf8')
    }
    let ptx = ''
    beforeAll(async () => {
      card = await openCard()
      ptx = compile()
    }, 600_000)
    afterAll(() => {
      card[Symbol.dispose]()
      rmSync(folder, { recursive: true, force: true })
    })
    const run = (launch: Omit<Launch, 'ptx'>, text = ptx) => card.run({ ...launch, ptx: text, env })

    const sums = {
      kernel: 'cluster_sums',
      grid: [8],
      block: [64],
      args: [
        { buffer: Float32Array.from({ length: 512 }, (_, at) => at) },
        { buffer: new Float32Array(512) },
      ],
    }
    const chained = {
      kernel: 'chained',
      block: [128],
      args: [
        { buffer: bf16(Array.from({ length: 64 * 16 }, (_, at) => ((at * 5) % 7) - 3)) },
        { buffer: bf16(Array.from({ length: 8 * 16 }, (_, at) => (at % 16 < 8 ? ((at * 3) % 5) - 2 : 0))) },
        { buffer: new Float32Array(64 * 8) },
      ],
    }

    test('sums over a cluster by cooperative groups', () => {
      const { message, buffers } = run(sums)
      expect(message).toBe('')
      expect(new Float32Array(buffers[1]!)).toEqual(
        Float32Array.from({ length: 512 }, (_, at) => 4 * (at % 64) + 64 * (at < 256 ? 6 : 22)),
      )
    })

    test('a product of e4m3 with registers from another warpgroup', () => {
      const K = 96
      const codes = (rows: number, salt: number) =>
        Uint8Array.from(
          { length: rows * K },
          (_, at) => [0x38, 0xb8, 0, 0x40, 0x30][(at * salt + (at >> 5)) % 5]!,
        )
      const value = (code: number) => ({ 0x38: 1, 0xb8: -1, 0: 0, 0x40: 2, 0x30: 0.5 })[code]!
      const [a, b] = [codes(64, 3), codes(16, 7)]
      const { message, buffers } = run({
        kernel: 'fp8_product',
        block: [256],
        args: [{ buffer: a }, { buffer: b }, { buffer: new Float32Array(64 * 16) }, { u32: K }],
      })
      expect(message).toBe('')
      const expected = Float32Array.from({ length: 64 * 16 }, (_, at) => {
        let sum = 0
        for (let k = 0; k < K; k++) sum += value(a[(at >> 4) * K + k]!) * value(b[(at & 15) * K + k]!)
        return sum
      })
      expect(new Float32Array(buffers[2]!)).toEqual(expected)
    })

    test('a product whose left operand stays in registers', () => {
      const { message, buffers } = run(chained)
      expect(message).toBe('')
      const a = (row: number, k: number) => (((row * 16 + k) * 5) % 7) - 3
      const b = (n: number, k: number) => (k < 8 ? (((n * 16 + k) * 3) % 5) - 2 : 0)
      const sum = (count: number, of: (k: number) => number) =>
        Array.from({ length: count }, (_, k) => of(k)).reduce((all, one) => all + one, 0)
      const expected = Float32Array.from({ length: 512 }, (_, at) =>
        sum(8, k => sum(8, inner => a(at >> 3, inner) * b(k, inner)) * b(at & 7, k)),
      )
      expect(new Float32Array(buffers[2]!)).toEqual(expected)
    })

    test('faults in the source are reported by name and line', () => {
      expect(run(sums, compile('-DWITHOUT_LAST_SYNC')).message).toMatch(
        /cluster_sums line \d+ \(ld[.\w:]*\) .*(?:can end before this access|has ended)/,
      )
      expect(run(chained, compile('-DEARLY')).message).toMatch(
        /chained line \d+ \(st\.global[.\w]*\) .*reads registers with the sums of the wgmma of line \d+/,
      )
    }, 120_000)
  })
} else {
  test('without nvcc only hand-written PTX is run', () => {
    expect(readFileSync(source, 'utf8')).toContain('fp8_product')
  })
}
