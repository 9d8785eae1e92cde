/** The channel through which a session was created. */
import { z } from 'zod'
import { ChannelConfig } from './channel-config.ts'

/** Names that only the service assigns: sessions of platforms, parents and schedules are trusted by name. */
const RESERVED: ReadonlySet<string> = new Set([
  ...ChannelConfig.options.map(({ shape }) => shape.platform.value),
  'worker',
  'scheduled',
])

/** The channel name that a caller supplies; the default is `web`. */
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
