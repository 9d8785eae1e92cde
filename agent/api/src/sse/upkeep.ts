/** What open streams need from time to time: heartbeats, and an end for who takes nothing. */
import type { Logger, Tuning } from '../deps.ts'
import { KEEP_ALIVE } from './frames.ts'
import type { OpenStream } from './open-streams.ts'
import { readSendQueues } from './send-queues.ts'
import { MAX_UNSENT } from './session-hub.ts'

/** A stream that has something unsent and took nothing for so long is dead, however little it is. */
const DEAD_MS = 30_000

/** Looks at every stream once. */
export function createUpkeep(
  streams: Iterable<OpenStream>,
  { heartbeatMs, stallMs }: Pick<Tuning, 'heartbeatMs' | 'stallMs'>,
  log: Logger,
): () => void {
  /** So long this one may take nothing. */
  const patienceOf = ({ connection, lacks }: OpenStream): number =>
    lacks() > MAX_UNSENT ? stallMs : connection.unsent() > 0 ? DEAD_MS : Infinity

  /** The socket has taken nothing; whoever has acknowledged nothing either is gone, or as good as that. */
  async function cutStalled(quiet: readonly OpenStream[]): Promise<void> {
    const queues = await readSendQueues()
    const at = performance.now()
    for (const open of quiet) {
      const { connection } = open
      const quietMs = Math.min(connection.lookAtPeer(queues, at), at - connection.lastProgressAt)
      if (quietMs >= patienceOf(open)) connection.destroy()
    }
  }

  return () => {
    const at = performance.now()
    const quiet: OpenStream[] = []
    for (const open of streams) {
      const { connection } = open
      connection.look(at)
      if (at - connection.lastWriteAt >= heartbeatMs && connection.unsent() === 0)
        connection.write(KEEP_ALIVE)
      // From half of the time on, so that there are two looks to compare.
      if (at - connection.lastProgressAt >= patienceOf(open) / 2) quiet.push(open)
    }
    if (quiet.length > 0)
      cutStalled(quiet).catch((error: unknown) =>
        log.warn('could not look after readers that take nothing', { error: String(error) }),
      )
  }
}
