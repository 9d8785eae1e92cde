/**
 * Ports for whoever must know one before it is listened on, or come back to it after a death. They lie below
 * those that the system gives to outgoing connections, so nothing but another listener can take one in
 * between: of the others any connection may.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Of every system's range for outgoing connections the lowest begins at 32768 (Linux) or above. */
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
