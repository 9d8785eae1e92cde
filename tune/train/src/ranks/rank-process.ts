/** The process of one rank, which its parent starts, stops and outlives. */
import { joinGroup } from '@cairn-tune/native'
import { trainRank } from '../train-rank.ts'
import { createRankGroup } from './group.ts'
import { failureOf, type FromRank, type ToRank } from './messages.ts'

/** The group's memory, after the standard streams and the channel to the parent. */
const GROUP_FILE = 4
const ALIVE_MS = 1000
/**
 * A rank may wait this many times the timeout of a lost rank, because a slow one still shows signs of life:
 * rank 0 writes a checkpoint meanwhile, or a rank reads its weights from a slow disk.
 */
const PATIENCE = 10

const interrupt = new AbortController()
/** Ends this rank's waiting for others, once it has joined them. */
let endGroup = (): void => undefined

const send = (message: FromRank): Promise<void> =>
  new Promise(resolve => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve())
    else resolve()
  })

async function run({ config, rank, threads }: Extract<ToRank, { kind: 'start' }>): Promise<void> {
  const collectives = await joinGroup({
    file: GROUP_FILE,
    rank,
    ranks: config.ranks,
    timeoutSeconds: PATIENCE * config.rank_timeout,
  })
  const group = createRankGroup(collectives)
  endGroup = () => group.abort()
  // From now on its silence counts. A fast run is several steps old when the interval first fires.
  void send({ kind: 'alive' })
  const result = await trainRank(
    config,
    {
      signal: interrupt.signal,
      ...(threads === undefined ? {} : { threads }),
      ...(rank === 0
        ? {
            onNote: line => void send({ kind: 'note', line }),
            onStep: metrics => void send({ kind: 'step', metrics }),
          }
        : {}),
    },
    group,
  )
  await collectives.leave()
  await send({ kind: 'finished', result: rank === 0 ? result : undefined })
}

process.on('message', (message: ToRank) => {
  if (message.kind === 'start')
    void run(message)
      .catch((error: unknown) => send({ kind: 'failed', failure: failureOf(error) }))
      .finally(() => process.exit())
  else {
    interrupt.abort(new Error(message.reason))
    if (message.kind === 'end') endGroup()
  }
})
// Without its parent, no one would end a rank that waits for another.
process.on('disconnect', () => process.exit(1))
// Ctrl-C reaches every process of a terminal. The parent decides, so that all ranks stop after the same step.
process.on('SIGINT', () => undefined)
setInterval(() => void send({ kind: 'alive' }), ALIVE_MS).unref()
