/** The channel of a session: what it was created through. */
import { z } from 'zod'
import { ChannelConfig } from './channel-config.ts'

/** Given by the service alone: sessions of platforms, of parents and of schedules are trusted for their names. */
const RESERVED: ReadonlySet<string> = new Set([
  ...ChannelConfig.options.map(({ shape }) => shape.platform.value),
  'worker',
  'scheduled',
])

/** As a caller names itself; a session of a caller that names nothing has `web`. */
export const CallerChannel = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be a-z, 0-9, "-" and "_", beginning with a letter, at most 64')
  .refine(name => !RESERVED.has(name), {
    error: ({ input }) => `${JSON.stringify(input)} is reserved for sessions that the service creates itself`,
  })
  .describe(
    'what the session was created through, such as `web` (the default), `cli` or the name of your client; ' +
      `reserved: ${[...RESERVED].join(', ')}`,
  )
