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

/** Numbers of a rank that are added in two rounds, and how many of their sums are not those in order. */
async function addTwice(): Promise<number> {
  const counts = [LARGE, 3]
  const numbers = (round: number) =>
    counts.map(count => Float32Array.from({ length: count }, (_, i) => numberOf(rank + round * ranks, i)))
  for (const round of [0, 1]) await group.addRound(numbers(round).map(bytesOf), round === 0)
  const all = counts.map(count => new Float32Array(count))
  await group.takeSums(all.map(bytesOf))
  let wrong = 0
  for (const sums of all)
    for (let i = 0; i < sums.length; i++) {
      let sum = numberOf(0, i)
      for (let of = 1; of < 2 * ranks; of++) sum = Math.fround(sum + numberOf(of, i))
      if (!Object.is(sums[i], sum)) wrong++
    }
  return wrong
}

/** Bytes that a rank sends to another: none, few, or more than the pieces in which they travel. */
function partOf(from: number, to: number): Uint8Array {
  const part = new Uint8Array([5, 0, LARGE][(from + 2 * to) % 3] ?? 0)
  for (let i = 0; i < part.length; i++) part[i] = 16 * from + to + (i % 251)
  return part
}

/** The parts received, as numbers of the ranks whose part is right. */
async function exchangeParts(): Promise<number[]> {
  const each = Array.from({ length: ranks }, (_, of) => of)
  const received = each.map(of => new Uint8Array(partOf(of, rank).byteLength))
  await group.exchange(
    each.map(to => partOf(rank, to)),
    received,
    LARGE,
  )
  return each.filter(of => Buffer.compare(partOf(of, rank), received[of] ?? new Uint8Array(1)) === 0)
}

async function callAll(): Promise<Record<string, unknown>> {
  const wrong = await addTwice()
  const gathered = await group.allGather(Uint8Array.of(10 + rank, 20 + rank))
  const received = await exchangeParts()
  const told = Uint8Array.of(rank, 7)
  await group.broadcast(told, ranks - 1)
  await group.barrier()
  return { wrong, gathered: [...gathered], received, told: [...told] }
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
