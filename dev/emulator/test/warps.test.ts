import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, ptxOf, type Card } from './card.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

const lanes = Array.from({ length: 32 }, (_, lane) => lane)
const PRELUDE = `
  .reg .pred %p, %q; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .b16 %h<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
`
const STORE = '\n  st.global.u32 [%rd3], %r2;\n  ret;'

/** %r2 of each thread after `body`; %r1 is the thread's number. `before` precedes the kernel. */
function run(
  body: string,
  threads = 32,
  before = '',
  start: readonly number[] = [],
  target = 'sm_80',
): number[] {
  const out = new Uint32Array(threads)
  out.set(start)
  const text = ptxOf(PRELUDE + body + STORE, '.param .u64 out', target)
  const { status, message, buffers } = card.run({
    ptx: text.replace('.visible', `${before}\n.visible`),
    kernel: 'kernel',
    block: [threads],
    args: [{ buffer: out }],
    env: { CAIRN_EMULATOR_CAPABILITY: target.slice(3) },
  })
  expect({ status, message }).toEqual({ status: 0, message: '' })
  return [...new Uint32Array(buffers[0]!)]
}

describe('lanes of a warp', () => {
  test.each([
    ['bfly', 5, 31, (lane: number) => lane ^ 5],
    ['up', 3, 0, (lane: number) => (lane >= 3 ? lane - 3 : lane)],
    ['down', 4, 31, (lane: number) => (lane < 28 ? lane + 4 : lane)],
    ['idx', 9, 31, () => 9],
    // Segments of 8 lanes.
    ['down', 2, 0x181f, (lane: number) => (lane % 8 < 6 ? lane + 2 : lane)],
    ['idx', 3, 0x181f, (lane: number) => lane - (lane % 8) + 3],
  ] as const)('shfl.%s by %i within %i', (mode, by, clamp, of) => {
    expect(run(`shfl.sync.${mode}.b32 %r2, %r1, ${by}, ${clamp}, -1;`)).toEqual(lanes.map(lane => of(lane)))
  })

  test('votes, matches, reductions', () => {
    const ask = 'and.b32 %r3, %r1, 3;\nsetp.eq.u32 %p, %r3, 1;\n'
    const ones = 0x22222222
    expect(run(`${ask}vote.sync.ballot.b32 %r2, %p, -1;`)).toEqual(lanes.map(() => ones))
    expect(run(`${ask}vote.sync.any.pred %q, %p, -1;\nselp.b32 %r2, 1, 0, %q;`)).toEqual(lanes.map(() => 1))
    expect(run(`${ask}vote.sync.all.pred %q, !%p, -1;\nselp.b32 %r2, 1, 0, %q;`)).toEqual(lanes.map(() => 0))
    expect(run(`${ask}match.any.sync.b32 %r2, %r3, -1;`)).toEqual(
      lanes.map(lane => (0x11111111 << (lane % 4)) >>> 0),
    )
    expect(run('redux.sync.add.s32 %r2, %r1, -1;')).toEqual(lanes.map(() => 496))
    expect(run('redux.sync.max.u32 %r2, %r1, -1;')).toEqual(lanes.map(() => 31))
  })

  test('diverged lanes reconverge where their paths join, including loops of different lengths', () => {
    const body = `
      mov.u32 %r2, 0; mov.u32 %r4, 0;
    AGAIN: setp.gt.u32 %p, %r4, %r1;
      @%p bra DONE;
      add.u32 %r2, %r2, %r4; add.u32 %r4, %r4, 1;
      bra AGAIN;
    DONE: shfl.sync.idx.b32 %r3, %r2, 31, 31, -1;
      add.u32 %r2, %r2, %r3;`
    expect(run(body)).toEqual(lanes.map(lane => (lane * (lane + 1)) / 2 + 496))
  })

  test('a branch table', () => {
    const body = `
      and.b32 %r3, %r1, 3;
      TABLE: .branchtargets A, B, C, A;
      brx.idx %r3, TABLE;
    C: mov.u32 %r2, 300; bra END;
    A: mov.u32 %r2, 100; bra END;
    B: mov.u32 %r2, 200;
    END: add.u32 %r2, %r2, %r1;`
    expect(run(body)).toEqual(lanes.map(lane => [100, 200, 300, 100][lane % 4]! + lane))
  })

  test('a function called twice from diverged lanes', () => {
    const square = `.func (.param .b32 result) square(.param .b32 of)
      { .reg .b32 %r<3>; ld.param.b32 %r1, [of]; mul.lo.s32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret; }`
    const call = (from: string, to: string) =>
      `{ .param .b32 given; .param .b32 back; st.param.b32 [given], ${from};
      call.uni (back), square, (given); ld.param.b32 ${to}, [back]; }`
    const body = `setp.lt.u32 %p, %r1, 10;
      @%p bra LOW;
      ${call('%r1', '%r2')}
      bra END;
    LOW: add.u32 %r3, %r1, 100;
      ${call('%r3', '%r2')}
    END: add.u32 %r2, %r2, 1;`
    expect(run(body, 32, square)).toEqual(lanes.map(lane => (lane < 10 ? lane + 100 : lane) ** 2 + 1))
  })
})

describe('barriers and atomic operations', () => {
  const two = Array.from({ length: 64 }, (_, thread) => thread)

  test('bar.red counts over all warps', () => {
    const body = 'rem.u32 %r3, %r1, 3;\nsetp.eq.u32 %p, %r3, 0;\nbar.red.popc.u32 %r2, 0, %p;'
    expect(run(body, 64)).toEqual(two.map(() => 22))
    expect(run(body.replace('popc.u32 %r2', 'or.pred %q') + '\nselp.b32 %r2, 7, 8, %q;', 64)).toEqual(
      two.map(() => 7),
    )
  })

  test('named barriers order a producer warp before its consumer', () => {
    const body = `.shared .b32 tile[32];
      mov.u32 %r5, tile; and.b32 %r6, %r1, 31; shl.b32 %r7, %r6, 2; add.u32 %r8, %r5, %r7;
      setp.lt.u32 %p, %r1, 32;
      mov.u32 %r2, 0;
      @!%p bra READER;
      mul.lo.u32 %r9, %r1, 7;
      st.shared.u32 [%r8], %r9;
      bar.arrive 1, 64;
      bra END;
    READER: bar.sync 1, 64;
      xor.b32 %r8, %r8, 4;
      ld.shared.u32 %r2, [%r8];
    END:`
    expect(run(body, 64)).toEqual(two.map(thread => (thread < 32 ? 0 : ((thread - 32) ^ 1) * 7)))
  })

  test('atomics in shared and global memory', () => {
    const shared = `.shared .b32 sum; mov.u32 %r5, sum;
      setp.eq.u32 %p, %r1, 0; @%p st.shared.u32 [%r5], 5; bar.sync 0;
      atom.shared.add.u32 %r6, [%r5], %r1; bar.sync 0;
      ld.shared.u32 %r2, [%r5];`
    expect(run(shared, 64)).toEqual(two.map(() => 2016 + 5))
    const inc = 'atom.global.inc.u32 %r3, [%rd1], 20; bar.sync 0; ld.global.u32 %r2, [%rd1]; bar.sync 0;'
    expect(run(inc, 32)[1]).toBe(32 % 21)
    const cas = 'atom.global.cas.b32 %r2, [%rd3], 3, 9; bar.sync 0; ld.global.u32 %r2, [%rd3];'
    expect(run(cas, 32, '', [3, 4])).toEqual(lanes.map(lane => [9, 4][lane] ?? 0))
    const float = `mov.f32 %f1, 0f3F000000; red.global.add.f32 [%rd1], %f1; bar.sync 0;
      ld.global.u32 %r2, [%rd1]; bar.sync 0;`
    expect(new Float32Array(Uint32Array.of(run(float)[5]!).buffer)[0]).toBe(16)
  })
})

describe('memory', () => {
  test('vectors, signed narrow loads, initialised variables, generic addresses', () => {
    const before = `.global .align 4 .b8 table[8] = {1, 255, 3, 4, 5, 6, 7, 128};
      .const .align 4 .f32 half = 0f3F000000;
      .global .align 8 .u64 links[1] = {generic(table)+4};`
    expect(run('mov.u64 %rd4, table; ld.global.s8 %r2, [%rd4+1];', 32, before)[0]).toBe(0xffffffff)
    expect(run('ld.global.u8 %r2, [table+7];', 32, before)[0]).toBe(128)
    expect(run('ld.const.b32 %r2, [half];', 32, before)[0]).toBe(0x3f000000)
    expect(run('ld.global.u64 %rd4, [links]; ld.b32 %r2, [%rd4];', 32, before)[0]).toBe(0x80070605)
    const local = `.local .align 8 .b8 depot[16]; .reg .b64 %sp; .reg .b64 %spl;
      mov.u64 %spl, depot; cvta.local.u64 %sp, %spl;
      mul.lo.u32 %r3, %r1, 3;
      st.local.v2.u32 [%spl+8], {%r1, %r3};
      isspacep.local %p, %sp;
      ld.v2.u32 {%r4, %r5}, [%sp+8];
      add.u32 %r2, %r4, %r5; @!%p mov.u32 %r2, 0;`
    expect(run(local)).toEqual(lanes.map(lane => 4 * lane))
    const shared = `.shared .align 16 .b8 tile[512]; mov.u64 %rd4, tile; cvta.shared.u64 %rd5, %rd4;
      mul.wide.u32 %rd6, %r1, 16; add.s64 %rd7, %rd5, %rd6;
      st.v4.u32 [%rd7], {%r1, 1, 2, 3}; cvta.to.shared.u64 %rd8, %rd7;
      ld.shared.v4.u32 {%r3, %r4, %r5, %r2}, [%rd8];
      add.u32 %r2, %r2, %r3;`
    expect(run(shared)).toEqual(lanes.map(lane => lane + 3))
  })

  test('ldmatrix gives each lane its pair, transposed or not; stmatrix is the inverse', () => {
    const fill = `.shared .align 128 .b8 tile[128]; mov.u32 %r5, tile; shl.b32 %r6, %r1, 2;
    add.u32 %r7, %r5, %r6;
      shl.b32 %r8, %r1, 1; add.u32 %r9, %r8, 1; shl.b32 %r10, %r9, 16; or.b32 %r10, %r10, %r8;
      st.shared.u32 [%r7], %r10; bar.warp.sync -1;
      and.b32 %r11, %r1, 7; shl.b32 %r11, %r11, 4; add.u32 %r12, %r5, %r11;\n`
    // Number 8·row + column lies at row, column.
    expect(run(`${fill}ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r12];`)).toEqual(
      lanes.map(lane => (((2 * lane + 1) << 16) | (2 * lane)) >>> 0),
    )
    const transposed = (lane: number) => {
      const [column, row] = [lane >> 2, (lane & 3) * 2]
      return (((8 * (row + 1) + column) << 16) | (8 * row + column)) >>> 0
    }
    expect(run(`${fill}ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r2}, [%r12];`)).toEqual(
      lanes.map(transposed),
    )
    expect(run(`${fill}movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r10;`)).toEqual(lanes.map(transposed))
    const back = `bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r12], {%r10};
    bar.warp.sync -1; ld.shared.u32 %r2, [%r7];`
    expect(run(fill + back, 32, '', [], 'sm_90')).toEqual(lanes.map(transposed))
  })
})

describe('tensor core products', () => {
  // A has a different number at each position, B selects a column of it: B[k][n] is 1 where k is 2n.
  const product = (type: string, k: number, a: string[], b: string[], body: string) => `${body}
    mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f3F800000; mov.f32 %f4, 0f3F800000;
    mma.sync.aligned.m16n8k${k}.row.col.f32.${type}.${type}.f32
      {%f1,%f2,%f3,%f4}, {${a.join()}}, {${b.join()}}, {%f1,%f2,%f3,%f4};`
  const floats = (results: readonly number[]) => [...new Float32Array(Uint32Array.from(results).buffer)]

  test('tf32: adds selected values of A to the accumulators', () => {
    // Lane l holds A[l / 4][l % 4] = l in its first register, zeros elsewhere; B[k][n] = 1 where k = n.
    const body = `cvt.rn.f32.u32 %f9, %r1; mov.b32 %r10, %f9; shr.u32 %r11, %r1, 2; and.b32 %r12, %r1, 3;
      setp.eq.u32 %p, %r11, %r12; selp.b32 %r13, 0x3f800000, 0, %p; mov.u32 %r14, 0;`
    const mma = product('tf32', 8, ['%r10', '%r14', '%r14', '%r14'], ['%r13', '%r14'], body)
    // C[row][column] is A[row][column] for columns below 4; lane l holds column 2·(l % 4).
    const expected = (lane: number) => ((lane & 3) < 2 ? (lane & ~3) + 2 * (lane & 3) : 0)
    expect(floats(run(`${mma}\nmov.b32 %r2, %f1;`))).toEqual(lanes.map(expected))
    expect(floats(run(`${mma}\nmov.b32 %r2, %f3;`))).toEqual(lanes.map(() => 1))
  })

  test.each([
    ['f16', 16, 0x3c003c00],
    ['bf16', 16, 0x3f803f80],
    ['e4m3', 32, 0x38383838],
    ['e5m2', 32, 0x3c3c3c3c],
  ])('%s: a product of ones is the depth plus the accumulator', (type, depth, ones) => {
    const mma = product(type, depth, ['%r3', '%r3', '%r3', '%r3'], ['%r3', '%r3'], `mov.u32 %r3, ${ones};`)
    const text = ptxOf(`${PRELUDE}${mma}\nmov.b32 %r2, %f3;${STORE}`, '.param .u64 out', 'sm_89')
    const { message, buffers } = card.run({
      ptx: text,
      kernel: 'kernel',
      args: [{ buffer: new Uint32Array(32) }],
      env: { CAIRN_EMULATOR_CAPABILITY: '89' },
    })
    expect(message).toBe('')
    expect([...new Float32Array(buffers[0]!)]).toEqual(lanes.map(() => depth + 1))
  })
})
