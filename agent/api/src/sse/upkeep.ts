/** Periodic upkeep of open streams: sends heartbeats, and disconnects stalled readers. */
import type { Logger } from '../logger.ts'
import type { Tuning } from '../tuning.ts'
import { KEEP_ALIVE } from './frames.ts'
import type { OpenStream } from './open-streams.ts'
import { readSendQueues, type SendQueues } from './send-queues.ts'
import { MAX_UNSENT } from './session-hub.ts'

/** A stream with unsent bytes, however few, and no progress for this long is dead. */
const DEAD_MS = 30_000

/** Returns a function that checks every stream once. */
export function createUpkeep(
  streams: Iterable<OpenStream>,
  { heartbeatMs, stallMs }: Pick<Tuning, 'heartbeatMs' | 'stallMs'>,
  log: Logger,
  clock = () => performance.now(),
  readQueues: () => Promise<SendQueues> = readSendQueues,
): () => void {
  /** How long this stream may make no progress. */
  const patienceOf = ({ connection, lacks }: OpenStream): number =>
    lacks() > MAX_UNSENT ? stallMs : connection.unsent() > 0 ? DEAD_MS : Infinity

  /** No progress on the socket. A peer that has not acknowledged anything either is treated as dead. */
  async function cutStalled(quiet: readonly OpenStream[]): Promise<void> {
    const queues = await readQueues()
    const at = clock()
    for (const open of quiet) {
      const { connection } = open
      const quietMs = Math.min(connection.lookAtPeer(queues, at), at - connection.lastProgressAt)
      if (quietMs >= patienceOf(open)) connection.destroy()
    }
  }

  return () => {
    const at = clock()
    const quiet: OpenStream[] = []
    for (const open of streams) {
      const { connection } = open
      connection.look(at)
      if (at - connection.lastWriteAt >= heartbeatMs && connection.unsent() === 0)
        connection.write(KEEP_ALIVE)
      // From half of the time on, so that there are two checks to compare.
      if (at - connection.lastProgressAt >= patienceOf(open) / 2) quiet.push(open)
    }
    if (quiet.length > 0)
      cutStalled(quiet).catch((error: unknown) =>
        log.warn('stream health check failed', { error: String(error) }),
      )
  }
}
