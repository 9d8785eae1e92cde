/** Collectives over shared memory, each rank in a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { createGroup, joinMpi } from '../src/collectives.ts'

const program = fileURLToPath(new URL('./collectives-rank.ts', import.meta.url))
const running = new Set<ChildProcess>()
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})

type Rank = { child: ChildProcess; printed: Promise<Record<string, unknown>> }

/** The last place of `stdio` is the group's memory. */
function startRank(file: number, rank: number, ranks: number, args: string[] = [], timeout = 60): Rank {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', file],
    env: { ...process.env, RANK: `${rank}`, RANKS: `${ranks}`, GROUP_FILE: '3', TIMEOUT: `${timeout}` },
  })
  running.add(child)
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (more: string) => (text += more))
  const printed = new Promise<Record<string, unknown>>(resolve =>
    child.once('close', () => resolve(text === '' ? {} : (JSON.parse(text) as Record<string, unknown>))),
  )
  return { child, printed }
}

async function startAll(ranks: number, args: string[] = [], timeout?: number): Promise<Rank[]> {
  const file = await createGroup(ranks)
  const started = Array.from({ length: ranks }, (_, rank) => startRank(file, rank, ranks, args, timeout))
  closeSync(file)
  return started
}

describe.each([1, 3, 4])('%i ranks', ranks => {
  test('receive the bytes of all, and sums in the order of rounds and ranks', async () => {
    const all = await Promise.all((await startAll(ranks)).map(({ printed }) => printed))
    const each = Array.from({ length: ranks }, (_, rank) => rank)
    expect(all).toEqual(
      each.map(rank => ({
        rank,
        ranks,
        transport: 'shared memory',
        isSame: true,
        wrong: 0,
        gathered: each.flatMap(of => [10 + of, 20 + of]),
        received: each,
        told: [ranks - 1, 7],
      })),
    )
  })
})

test('a rank that is not there is named by those that wait for it', async () => {
  const file = await createGroup(3)
  const present = [0, 2].map(rank => startRank(file, rank, 3, ['wait'], 1))
  closeSync(file)
  const message = 'waited 1 s for rank 1 (barrier)'
  expect(await Promise.all(present.map(({ printed }) => printed))).toEqual([
    { rank: 0, error: message },
    { rank: 2, error: message },
  ])
})

test('ranks outside of 1 to 64 are refused', async () => {
  await expect(createGroup(65)).rejects.toThrow('ranks must be between 1 and 64, got 65')
  await expect(createGroup(0)).rejects.toThrow('ranks must be between 1 and 64, got 0')
})

test('a missing MPI library is reported with what to install', async () => {
  await expect(joinMpi({ CAIRN_TUNE_MPI: '/nowhere/libmpi.so' })).rejects.toThrow(
    /^MPI: cannot open \/nowhere\/libmpi\.so \(.*No such file or directory\)$/,
  )
})
