/** The browser of a session. */
import { z } from 'zod'
import { def } from './define.ts'
import { short, join } from './event-text.ts'
import { id, count } from './fields.ts'

export const BROWSER_EVENTS = {
  'browser.provisioned': def(
    'browser',
    'browser',
    'A browser was allocated to the agent.',
    {},
    {
      extra: {
        session_id: id,
        browser_id: id,
        provider: z.enum(['local', 'cdp']).optional(),
        version: z.string().optional(),
      },
      summary: d => `browser ${short(d.browser_id)}`,
    },
  ),
  'browser.destroyed': def(
    'browser',
    'browser',
    'The browser was torn down.',
    {},
    {
      extra: {
        session_id: id,
        browser_id: id,
        reason: z.enum(['closed', 'idle', 'limit', 'archived', 'shutdown', 'crashed', 'moved', 'lost']),
      },
      summary: d => join(`browser ${short(d.browser_id)}`, d.reason),
    },
  ),
  'browser.control_granted': def(
    'browser',
    'browser',
    'A user took over the live view.',
    {},
    {
      extra: { session_id: id, owner_user_id: id, browser_id: id, inbox_item_id: id.nullable() },
      summary: d => `to ${short(d.owner_user_id)}`,
    },
  ),
  'browser.control_returned': def(
    'browser',
    'browser',
    'The user handed the live view back.',
    {},
    {
      extra: {
        session_id: id,
        released_by: z.string(),
        browser_id: id,
        reason: z.enum(['returned', 'expired', 'forced', 'destroyed']),
        seconds: count,
        inputs: count,
        origins: z.array(z.string()).describe('scheme and host of the visited sites; never what was typed'),
      },
      summary: d => join(`by ${d.released_by}`, d.reason, `${d.seconds} s`),
    },
  ),
} as const
