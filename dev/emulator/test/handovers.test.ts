/** Blocks of a launch that hand over global memory: the last to arrive at a counter adds what all wrote. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, ptxOf, type Card, type Launch } from './card.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

const [BLOCKS, THREADS] = [4, 64]
const ARRIVAL = 'atom.acq_rel.gpu.global.inc.u32 %r5, [%rd1], 3;'
const BARRIER = 'bar.sync 0;'
const VOTE = 'bar.red.or.pred %p3, 0, %p2;'

/** Number 0 is the counter, then 64 numbers of each block, and the sums of the last block. */
const BODY = `
  .reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, ${THREADS}, %r1;
  add.u32 %r4, %r3, 1;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r4;
  ${BARRIER}
  setp.ne.u32 %p1, %r1, 0;
  mov.u32 %r5, 0;
  @%p1 bra ARRIVED;
  ${ARRIVAL}
ARRIVED:
  setp.eq.u32 %p2, %r5, ${BLOCKS - 1};
  ${VOTE}
  @!%p3 ret;
  mul.wide.u32 %rd4, %r1, 4;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.u32 %r6, [%rd5+4];
  ld.global.u32 %r7, [%rd5+260];
  ld.global.u32 %r8, [%rd5+516];
  ld.global.u32 %r9, [%rd5+772];
  add.u32 %r6, %r6, %r7;
  add.u32 %r8, %r8, %r9;
  add.u32 %r6, %r6, %r8;
  st.global.u32 [%rd5+1028], %r6;
  ret;`

function handOver(from = '', to = '', env: Record<string, string> = {}): Launch {
  if (!BODY.includes(from)) throw new Error(`the kernel has no ${from}`)
  return {
    ptx: ptxOf(BODY.replace(from, to)),
    kernel: 'kernel',
    grid: [BLOCKS],
    block: [THREADS],
    args: [{ buffer: new Uint32Array(1 + THREADS * (BLOCKS + 1)) }],
    env,
  }
}

test.each([
  { from: '', to: '' },
  { from: ARRIVAL, to: 'fence.acq_rel.gpu;\natom.global.inc.u32 %r5, [%rd1], 3;\nfence.acq_rel.gpu;' },
  { from: ARRIVAL, to: 'membar.gl;\natom.global.inc.u32 %r5, [%rd1], 3;\nmembar.gl;' },
])('the last block reads what all wrote, and the counter is zero again ($to)', ({ from, to }) => {
  for (const env of [{}, { CAIRN_EMULATOR_SEED: '1' }, { CAIRN_EMULATOR_THREADS: '1' }]) {
    const { status, message, buffers } = card.run(handOver(from, to, env))
    expect({ status, message }).toEqual({ status: 0, message: '' })
    const numbers = new Uint32Array(buffers[0]!)
    expect(numbers[0]).toBe(0)
    const sums = Array.from({ length: THREADS }, (_, i) => 4 * (i + 1) + 6 * THREADS)
    expect([...numbers.subarray(1 + THREADS * BLOCKS)]).toEqual(sums)
  }
})

/** Promise T1.2: The emulated card reports memory that blocks share without ordering it. */
describe('reports blocks that share memory without order', () => {
  test.each([
    { name: 'a relaxed arrival', from: ARRIVAL, to: ARRIVAL.replace('acq_rel', 'relaxed') },
    { name: 'an arrival that releases only', from: ARRIVAL, to: ARRIVAL.replace('acq_rel', 'release') },
    { name: 'an arrival that acquires only', from: ARRIVAL, to: ARRIVAL.replace('acq_rel', 'acquire') },
    { name: 'an arrival for the block alone', from: ARRIVAL, to: ARRIVAL.replace('gpu', 'cta') },
    { name: 'no barrier before the arrival', from: BARRIER, to: '' },
    {
      name: 'no fence after the arrival',
      from: ARRIVAL,
      to: 'fence.acq_rel.gpu;\natom.global.inc.u32 %r5, [%rd1], 3;',
    },
  ])('$name', ({ from, to }) => {
    const { status, message } = card.run(handOver(from, to))
    expect(message).toMatch(/reads 4 bytes at 0x[0-9a-f]+ that block number \d wrote in this launch/)
    expect(status).not.toBe(0)
  })
})
