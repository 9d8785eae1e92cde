import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, type Card } from './card.ts'
import { COPY_FAULTS, STORE_FAULTS, TENSOR_FAULTS } from './copy-faults.ts'
import { INIT, LOAD, copying, expectBytes, faultLine, waitFor } from './copying.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

describe('reports a planted fault with its line', () => {
  test.each([...COPY_FAULTS, ...STORE_FAULTS, ...TENSOR_FAULTS])('$name', ({ launch, says }) => {
    const { status, error, message } = card.run(launch)
    expect(message).toMatch(says)
    expect(Number(/^cairn emulator: kernel line (\d+) /.exec(message)?.[1])).toBe(faultLine(launch.ptx))
    expect(error).toMatch(/CUDA_ERROR_LAUNCH_FAILED/)
    expect(status).not.toBe(0)
  })
})

describe('reports a missing wait', () => {
  const reading = copying(
    `${INIT}${expectBytes(256)}${LOAD}\nld.shared.u32 %r4, [%r3]; // fault\nst.global.u32 [%rd3], %r4;`,
    32,
  )
  test.each(['at-once', 'drawn'])('also when copies complete early: %s', mode => {
    const env = { ...reading.env, CAIRN_EMULATOR_COPIES: mode, CAIRN_EMULATOR_SEED: '3' }
    const { message } = card.run({ ...reading, env })
    expect(message).toMatch(/reads shared bytes (?:whose bulk copy is in flight|of a bulk copy without)/)
  })
})

test.each([
  ['mbarrier.arrive.noComplete.shared.b64 %rd7, [full], 1;', /mbarrier\.arrive\.noComplete.*: \.noComplete/],
  ['mbarrier.pending_count.b64 %r4, %rd7;', /does not know mbarrier\.pending_count/],
  [
    'cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile], [tile], 16, [full];',
    /does not copy between blocks of a cluster/,
  ],
  [
    `cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
      [tile], [%rd5, {0, 0, 0}], [full], {0};`,
    /im2col/,
  ],
  ['cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [tile], 16;', /cp\.reduce/],
])('loading a module rejects %s', (line, says) => {
  const { error, message } = card.run(copying(`${line} // fault`))
  expect(error).toBe('cuModuleLoadData: CUDA_ERROR_INVALID_PTX')
  expect(message).toMatch(says)
})

test('a wait that another warp must end is not a deadlock', () => {
  const body = `${INIT}
    setp.lt.u32 %p2, %r1, 32; @%p2 bra LATER;
    setp.eq.u32 %p3, %r1, 32;
    ${`${expectBytes(256)}${LOAD}`.replaceAll('%p0', '%p3')}
    LATER: ${waitFor(0)}
    ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd3], %r4;`
  const { message, buffers } = card.run(copying(body))
  expect(message).toBe('')
  expect([...new Uint32Array(buffers[1]!)]).toEqual(Array.from({ length: 64 }, (_, at) => 1000 + at))
})
