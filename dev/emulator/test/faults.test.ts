import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, type Card } from './card.ts'
import { FAULTS, operand, product } from './faults.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

const decode = (codes: Uint16Array) => new Float32Array(Uint32Array.from(codes, code => code << 16).buffer)

/** C = A · Bᵀ, exact for these operands. */
function multiply(M: number, N: number, K: number): Float32Array {
  const [a, b] = [decode(operand(Math.ceil(M / 64) * 64, K, 1)), decode(operand(N, K, 2))]
  return Float32Array.from({ length: M * N }, (_, at) => {
    const [row, column] = [Math.floor(at / N), at % N]
    let sum = 0
    for (let k = 0; k < K; k++) sum += a[row * K + k]! * b[column * K + k]!
    return sum
  })
}

describe('a tensor core product compiled by nvcc', () => {
  test.each([
    { M: 64, N: 64, K: 32 },
    { M: 128, N: 192, K: 96 },
    { M: 40, N: 64, K: 128 },
  ])('computes every value correctly, $M × $N × $K', shape => {
    const { status, message, buffers } = card.run(product([], shape))
    expect({ status, message }).toEqual({ status: 0, message: '' })
    expect(new Float32Array(buffers[2]!)).toEqual(multiply(shape.M, shape.N, shape.K))
  })

  test.each([
    { CAIRN_EMULATOR_COPIES: 'at-once' },
    { CAIRN_EMULATOR_SEED: '1' },
    { CAIRN_EMULATOR_SEED: '2' },
    { CAIRN_EMULATOR_THREADS: '1' },
    { GRAPH: '3' },
  ])('gives the same result with %o', env => {
    const { status, message, buffers } = card.run(product([], { M: 128 }, { env }))
    expect({ status, message }).toEqual({ status: 0, message: '' })
    expect(new Float32Array(buffers[2]!)).toEqual(multiply(128, 64, 128))
  })

  test('has no bank conflicts in shared memory', () => {
    const { counts } = card.run(product())
    const { ldmatrix_phases, ldmatrix_passes, shared_phases, shared_passes, mma } = counts['product']!
    // 64 × 64 × 128 takes 4 · 8 · 8 products of 16 × 8 × 16; a step of 16 loads 4 + 8 · 2 matrices per warp.
    expect({ mma, ldmatrix_phases, shared_phases }).toEqual({
      mma: 256,
      ldmatrix_phases: 4 * 8 * 20,
      shared_phases: (128 * 4 * 4 * 16) / 128,
    })
    expect([ldmatrix_passes, shared_passes]).toEqual([ldmatrix_phases, shared_phases])
  })
})

describe('reports a planted fault', () => {
  test.each(FAULTS)('$name', ({ launch, says }) => {
    const { status, error, message } = card.run(launch)
    expect(message).toMatch(says)
    expect(error).toMatch(/CUDA_ERROR_/)
    expect(status).not.toBe(0)
  })

  /** Promise T1.2: The emulated card reports a kernel fault with its line and warp. */
  test('with the kernel, line, block and warp in the message', () => {
    const { message } = card.run(FAULTS[1]!.launch)
    expect(message).toMatch(/^cairn emulator: product line \d+ \(ldmatrix[.\w]+\) block 0,0,0 warp \d: /)
  })
})

describe('a planted fault changes results or counts', () => {
  test('swapping the halves of the second fragment gives a wrong result', () => {
    const { buffers } = card.run(product([['{%r259,%r260}, {%f312', '{%r260,%r259}, {%f312']]))
    expect(new Float32Array(buffers[2]!)).not.toEqual(multiply(64, 64, 128))
  })

  test('removing the swizzle keeps the result and makes ldmatrix take four passes per phase', () => {
    const plain = product([
      ['xor.b32  \t%r69, %r68, %r7;', 'mov.u32 %r69, %r7;'],
      ['xor.b32  \t%r91, %r90, %r12;', 'mov.u32 %r91, %r12;'],
      ['xor.b32  \t%r153, %r152, %r39;', 'mov.u32 %r153, %r39;'],
      ['xor.b32  \t%r109, %r107, %r108;', 'mov.u32 %r109, %r108;'],
      ['xor.b32  \t%r115, %r114, %r103;', 'mov.u32 %r115, %r114;'],
      ['xor.b32  \t%r117, %r107, %r105;', 'mov.u32 %r117, %r105;'],
      ['xor.b32  \t%r127, %r126, %r103;', 'mov.u32 %r127, %r126;'],
    ])
    const { buffers, counts } = card.run(plain)
    expect(new Float32Array(buffers[2]!)).toEqual(multiply(64, 64, 128))
    const { ldmatrix_phases, ldmatrix_passes } = counts['product']!
    expect(ldmatrix_passes! / ldmatrix_phases!).toBe(4)
  })

  test('uninitialised device memory reads as NaN', () => {
    const launch = product([['mov.f32 \t%f289, 0f00000000;', '']])
    const { buffers } = card.run(launch)
    expect(new Float32Array(buffers[2]!).some(Number.isNaN)).toBe(true)
  })
})

test('loading a module rejects an unknown instruction with its name and line', () => {
  const { error, message } = card.run(product([['cp.async.wait_group 1;', 'tcgen05.wait.sync.aligned;']]))
  expect(error).toBe('cuModuleLoadData: CUDA_ERROR_INVALID_PTX')
  expect(message).toMatch(/PTX line 270: the emulator does not know tcgen05\.wait\.sync\.aligned/)
})
