/**
 * Ports for callers that must know one before they listen on it, or reuse it after a crash. They are below
 * the range that the system uses for outgoing connections, so only another listener can take one meanwhile; a
 * port of that range could go to any connection.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** The lowest start of any system's range for outgoing connections is 32768 (Linux) or above. */
const FIRST = 20_000
const END = 32_000
const TRIES = 100

export async function freePort(): Promise<number> {
  for (let n = 0; n < TRIES; n += 1) {
    const port = randomInt(FIRST, END)
    const probe = createServer()
    try {
      probe.listen(port, '127.0.0.1')
      await once(probe, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    probe.close()
    await once(probe, 'close')
    return port
  }
  throw new Error(`none of ${TRIES} ports from ${FIRST} to ${END} is free on 127.0.0.1`)
}
