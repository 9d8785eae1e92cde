/**
 * Faults planted in kernels with mbarriers and bulk copies: the words in which the emulator must name each,
 * and the line, which ends with `// fault`.
 */
import type { Launch } from './card.ts'
import { INIT, LOAD, copying, expectBytes, waitFor } from './copying.ts'

export type CopyFault = {
  name: string
  launch: Launch
  /** Matches the emulator's message. */ says: RegExp
}

const STORE = '@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256;'
const COMMIT = '@%p0 cp.async.bulk.commit_group;\n'
const READ = 'ld.shared.u32 %r4, [%r3];'
const WRITE = 'st.shared.u32 [%r3], %r1;'
const SHOW = '\nst.global.u32 [%rd3], %r4;'
const tensor = (address = '%r2') =>
  `@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [${address}], [%rd5, {0, 0}], [full];`
const loaded = `${INIT}${expectBytes(256)}${LOAD}\n${waitFor(0)}\n`
const mark = (line: string) => `${line} // fault\n`

export const COPY_FAULTS: readonly CopyFault[] = [
  {
    name: 'more arrivals than an mbarrier expects',
    launch: copying(`${INIT}@%p0 mbarrier.arrive.shared.b64 %rd7, [empty];
      ${mark('@%p0 mbarrier.arrive.shared.b64 %rd7, [empty], 2;')}`),
    says: /2 arrivals are too many: the mbarrier at \d+ is in phase 0 \(parity 0\), in which 1 of 2 arrivals/,
  },
  {
    name: 'more bytes than were expected',
    launch: copying(`${INIT}${expectBytes(128)}${mark(LOAD)}${waitFor(0)}`),
    says: /more bytes completed than were expected: .* 0 of 1 arrivals and -128 bytes are pending/,
  },
  {
    name: 'a copy that no arrival expects',
    launch: copying(`${INIT}@%p0 mbarrier.arrive.shared.b64 %rd7, [full];
      ${LOAD}\n${mark(waitFor(1))}`),
    says: /deadlock: .*for parity 1: .*phase 1 \(parity 1\), in which 1 of 1 arrivals and -256 bytes/,
  },
  {
    name: 'fewer bytes than were expected',
    launch: copying(`${INIT}${expectBytes(512)}${LOAD}\n${mark(waitFor(0))}`),
    says: /deadlock: 0 of 2 .*for parity 0: .*phase 0 \(parity 0\), in which 0 of 1 arrivals and 256 bytes/,
  },
  {
    name: 'a wait for the wrong parity',
    launch: copying(`${loaded}${mark(waitFor(1, 'full', 'AGAIN'))}`),
    says: /deadlock: .*for parity 1: .*phase 1 \(parity 1\), in which 1 of 1 arrivals and 0 bytes/,
  },
  {
    name: 'a state of an earlier phase',
    launch: copying(`${INIT}@!%p0 bra DONE;
      mbarrier.arrive.shared.b64 %rd7, [full];
      mbarrier.arrive.shared.b64 %rd8, [full];
      ${mark('mbarrier.test_wait.shared.b64 %p1, [full], %rd7;')}DONE:`),
    says: /waits by a state that no arrival at this mbarrier in this or the previous phase returned/,
  },
  {
    name: 'an mbarrier that is not initialised',
    launch: copying(mark('@%p0 mbarrier.arrive.shared.b64 %rd7, [full];')),
    says: /no mbarrier is initialised at \d+/,
  },
  {
    name: 'an mbarrier initialised twice',
    launch: copying(`${INIT}${mark('@%p0 mbarrier.init.shared.b64 [full], 1;')}`),
    says: /is initialised again before mbarrier\.inval/,
  },
  {
    name: 'an mbarrier used before its initialisation is visible',
    launch: copying(`@%p0 mbarrier.init.shared.b64 [empty], 64;
      ${mark('mbarrier.arrive.shared.b64 %rd7, [empty];')}`),
    says: /lane 1 uses an mbarrier whose initialisation by the same warp lane 0 no barrier has made visible/,
  },
  {
    name: 'memory of an mbarrier reused before inval',
    launch: copying(`${INIT}${mark('@%p0 st.shared.u32 [full], 0;')}`),
    says: /overwrites shared bytes of an mbarrier, which mbarrier\.inval has not released/,
  },
  {
    name: 'an mbarrier invalidated while others may use it',
    launch: copying(`${INIT}@!%p0 mbarrier.test_wait.parity.shared.b64 %p1, [full], 1;
      ${mark('@%p0 mbarrier.inval.shared.b64 [full];')}`),
    says: /race: lane 0 invalidates an mbarrier that .* reads since the last/,
  },
  {
    name: 'an mbarrier invalidated before its copy completes',
    launch: copying(`${INIT}${expectBytes(256)}${LOAD}
      ${mark('@%p0 mbarrier.inval.shared.b64 [full];')}`),
    says: /invalidates the mbarrier at \d+, at which a bulk copy has yet to complete/,
  },
  {
    name: 'fence after the initialisation removed',
    launch: copying(
      `${INIT.replace('@%p0 fence.mbarrier_init.release.cluster;', '')}${expectBytes(256)}${mark(LOAD)}`,
    ),
    says: /ran neither fence\.mbarrier_init nor fence\.proxy\.async after mbarrier\.init/,
  },
  {
    name: 'bytes of a bulk copy read before its phase completes',
    launch: copying(`${INIT}${expectBytes(256)}${LOAD}\n${mark(READ)}${SHOW}`, 32),
    says: /reads shared bytes whose bulk copy is in flight/,
  },
  {
    name: 'bytes of a bulk copy written before its phase completes',
    launch: copying(`${INIT}${expectBytes(256)}${LOAD}\n${mark(WRITE)}`, 32),
    says: /overwrites shared bytes whose bulk copy is in flight/,
  },
  {
    name: 'one warp waits for the copy, the other reads it too',
    launch: copying(`${INIT}${expectBytes(256)}${LOAD}
      setp.lt.u32 %p2, %r1, 32; @%p2 bra OTHER;
      ${waitFor(0)}
      OTHER:
      ${mark(READ)}${SHOW}`),
    says: /reads shared bytes (?:whose bulk copy is in flight|of a bulk copy without a wait)/,
  },
  {
    name: 'global bytes written before the bulk copy has read them',
    launch: copying(`${INIT}${expectBytes(256)}${LOAD}\n${mark('st.global.u32 [%rd6], %r1;')}`),
    says: /lane 0 writes global bytes that the bulk load of line \d+ has yet to read/,
  },
  {
    name: 'a block that ends before its bulk copy',
    launch: copying(`${INIT}${expectBytes(256)}${mark(LOAD)}`),
    says: /the block ends while this bulk copy is in flight/,
  },
  {
    name: 'a size of 24 bytes',
    launch: copying(`${INIT}${mark(LOAD.replace('256', '24'))}`),
    says: /the size of a bulk copy is a multiple of 16, this one is 24/,
  },
  {
    name: 'shared memory aligned to 8 bytes',
    launch: copying(`${INIT}${mark(LOAD.replace('[tile]', '[tile+8]'))}`),
    says: /the address in shared memory of a bulk copy is a multiple of 16/,
  },
  {
    name: 'global memory aligned to 8 bytes',
    launch: copying(`${INIT}${mark(LOAD.replace('[%rd1]', '[%rd1+8]'))}`),
    says: /the address in global memory of a bulk copy is a multiple of 16/,
  },
  {
    name: 'a copy beyond the end of its source',
    launch: copying(`${INIT}${mark(LOAD.replace('[%rd1]', '[%rd1+832]'))}`),
    says: /outside every allocation: a bulk copy of 256 bytes at 0x[\da-f]+, 64 bytes beyond the end/,
  },
  {
    name: 'lane 0 releases what its warp reads, without bar.warp.sync',
    launch: copying(`${loaded}${READ}
      and.b32 %r5, %r1, 31; setp.eq.u32 %p3, %r5, 0;
      @%p3 mbarrier.arrive.shared.b64 _, [empty];
      @!%p0 bra DONE;
      ${waitFor(0, 'empty', 'FREE')}
      mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
      ${mark(LOAD)}DONE:${SHOW}`),
    says: /race: lane 0 overwrites shared bytes that .* reads since the last/,
  },
]

const filled = (fence = 'fence.proxy.async.shared::cta;') => `${WRITE}\n${fence}\nbar.sync 0;\n`

export const STORE_FAULTS: readonly CopyFault[] = [
  {
    name: 'fence before a bulk store removed',
    launch: copying(`${filled('')}${mark(STORE)}`),
    says: /the asynchronous proxy reads shared bytes that the same warp lane 0 wrote without a fence/,
  },
  {
    name: 'fence before a bulk store left out by one thread',
    launch: copying(`setp.ne.u32 %p2, %r1, 37;\n${filled('@%p2 fence.proxy.async;')}${mark(STORE)}`),
    says: /the asynchronous proxy reads shared bytes that warp 1 lane 5 wrote without a fence\.proxy\.async/,
  },
  {
    name: 'barrier before a bulk store removed',
    launch: copying(`${filled().replace('bar.sync 0;', '')}${mark(STORE)}`),
    says: /race: lane 0 reads shared bytes that .* lane 1 wrote/,
  },
  {
    name: 'source of a bulk store overwritten before wait_group.read',
    launch: copying(`${filled()}${STORE}\n${COMMIT}${mark(`@%p0 ${WRITE}`)}`),
    says: /overwrites shared bytes that the bulk store of line \d+ still reads/,
  },
  {
    name: 'wait for one group too few',
    launch: copying(`${filled()}${STORE}\n${COMMIT}@%p0 cp.async.bulk.wait_group.read 1;
      ${mark(`@%p0 ${WRITE}`)}`),
    says: /overwrites shared bytes that the bulk store of line \d+ still reads/,
  },
  {
    name: 'commit of a bulk store removed',
    launch: copying(`${filled()}${STORE}\n@%p0 cp.async.bulk.wait_group.read 0;
      ${mark(`@%p0 ${WRITE}`)}`),
    says: /overwrites shared bytes that the bulk store of line \d+ still reads/,
  },
  {
    name: 'only the storing thread knows that its bytes were read',
    launch: copying(
      `${filled()}${STORE}\n${COMMIT}@%p0 cp.async.bulk.wait_group.read 0;
      ${mark(WRITE)}`,
      32,
    ),
    says: /race: lane 1 overwrites shared bytes that the same warp lane 0 reads since/,
  },
  {
    name: 'result of a bulk store read before wait_group',
    launch: copying(`${filled()}${STORE}\n${COMMIT}@%p0 cp.async.bulk.wait_group.read 0;
      bar.sync 0;
      ${mark('ld.global.u32 %r4, [%rd3];')}`),
    says: /reads global bytes that the bulk store of line \d+ has yet to write/,
  },
  {
    name: 'a block that ends while its bulk store reads',
    launch: copying(`${filled()}${mark(STORE)}${COMMIT}`),
    says: /the block ends while this bulk store reads its shared memory/,
  },
  {
    name: 'a bulk copy over bytes written without a fence',
    launch: copying(`${INIT}${WRITE}\nbar.sync 0;\n${expectBytes(256)}${mark(LOAD)}`),
    says: /the asynchronous proxy overwrites shared bytes that .* wrote without a fence\.proxy\.async/,
  },
]

const begin = `${INIT}${expectBytes(256)}`

export const TENSOR_FAULTS: readonly CopyFault[] = [
  {
    name: 'a tensor map of freed memory',
    launch: copying(`${begin}${mark(tensor().replace('\n', ' '))}`, 64, { freed: true }),
    says: /the tensor map is of memory at 0x[\da-f]+ that was freed/,
  },
  {
    name: 'a tensor map that leaves its allocation',
    launch: copying(`${begin}${mark(tensor().replace('\n', ' ').replace('{0, 0}', '{0, 16}'))}`, 64, {
      sizes: [16, 64],
    }),
    says: /outside every allocation: a bulk copy of 64 bytes/,
  },
  {
    name: 'a tile aligned to 64 bytes',
    launch: copying(`${begin}${mark(tensor('tile+64').replace('\n', ' '))}`),
    says: /the address in shared memory of a bulk copy is a multiple of 128/,
  },
  {
    name: 'a tile that leaves shared memory',
    launch: copying(`${begin}${mark(tensor('%r2+3968').replace('\n', ' '))}`, 64, { tile: [16, 16] }),
    says: /outside shared memory: a bulk copy of 1024 bytes/,
  },
  {
    name: 'coordinates of another count than the tensor has',
    launch: copying(`${begin}${mark(tensor().replace('\n', ' '))}`, 64, {
      sizes: [16, 4, 4],
      strides: [64, 256],
      tile: [16, 4, 1],
    }),
    says: /a copy of 2 dimensions by a tensor map of 3/,
  },
  {
    name: 'a tensor map in local memory',
    launch: copying(`${begin}mov.b64 %rd4, depot; cvta.local.u64 %rd5, %rd4;
      ${mark(tensor().replace('\n', ' '))}`),
    says: /a tensor map is a parameter \(const __grid_constant__\).*this one is in local memory/,
  },
  {
    name: 'bytes that are not a tensor map',
    launch: copying(`${begin}mov.b64 %rd5, %rd1;\n${mark(tensor().replace('\n', ' '))}`),
    says: /cuTensorMapEncodeTiled did not make the 128 bytes/,
  },
  {
    name: 'prefetch of bytes that are not a tensor map',
    launch: copying(mark('@%p0 prefetch.tensormap [%rd1];')),
    says: /cuTensorMapEncodeTiled did not make the 128 bytes/,
  },
]
