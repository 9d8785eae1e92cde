/**
 * A rank for the test of collectives: joins the group that the environment describes, calls every operation
 * twice, and prints what it received as JSON. `wait` as its argument: waits in a barrier.
 */
import { joinGroup, joinMpi } from '../src/collectives.ts'

const { RANK, RANKS, GROUP_FILE, TIMEOUT = '60' } = process.env
const group =
  GROUP_FILE === undefined
    ? await joinMpi()
    : await joinGroup({
        file: Number(GROUP_FILE),
        rank: Number(RANK),
        ranks: Number(RANKS),
        timeoutSeconds: Number(TIMEOUT),
      })
const { rank, ranks, transport } = group

/** Numbers whose sum depends on the order of the additions. */
const numberOf = (of: number, i: number): number =>
  Math.fround((((i * 2654435761 + of * 97) % 1009) - 504) * 10 ** (((i + of) % 9) - 4))

/** Larger than the pieces in which numbers travel, and not a multiple of the number of ranks. */
const LARGE = 1_100_003

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
  new Uint8Array(buffer, byteOffset, byteLength)

async function callAll(): Promise<Record<string, unknown>> {
  const [large, small] = [LARGE, 3].map(count =>
    Float32Array.from({ length: count }, (_, i) => numberOf(rank, i)),
  )
  if (!large || !small) throw new Error('[callAll] no numbers')
  await group.allReduce([bytesOf(large), bytesOf(small)])
  let wrong = 0
  for (const sums of [large, small])
    for (let i = 0; i < sums.length; i++) {
      let sum = numberOf(0, i)
      for (let of = 1; of < ranks; of++) sum = Math.fround(sum + numberOf(of, i))
      if (!Object.is(sums[i], sum)) wrong++
    }
  const gathered = await group.allGather(Uint8Array.of(10 + rank, 20 + rank))
  const sent = Uint8Array.from({ length: ranks }, (_, to) => 16 * rank + to)
  const received = await group.allToAll(sent)
  const told = Uint8Array.of(rank, 7)
  await group.broadcast(told, ranks - 1)
  await group.barrier()
  return { wrong, gathered: [...gathered], received: [...received], told: [...told] }
}

try {
  if (process.argv[2] === 'wait') await group.barrier()
  else {
    const [first, second] = [await callAll(), await callAll()]
    const isSame = JSON.stringify(first) === JSON.stringify(second)
    console.log(JSON.stringify({ rank, ranks, transport, isSame, ...second }))
  }
  await group.leave()
} catch (error) {
  console.log(JSON.stringify({ rank, error: error instanceof Error ? error.message : String(error) }))
  process.exitCode = 1
}
