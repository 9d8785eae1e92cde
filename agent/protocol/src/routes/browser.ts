/** Routes to watch a session's browser, take control of it and release it. */
import { z } from 'zod'
import { onSession } from './fields.ts'
import type { Route } from './route.ts'

const timestamp = z.string()
const byPerson = { access: 'user', alias: false } as const

const BrowserTab = z.object({ url: z.string(), title: z.string(), front: z.boolean() })
export const BrowserView = z
  .object({
    browser_id: z.string(),
    status: z.enum(['live', 'user_control']),
    holder: z
      .object({ user_id: z.string(), name: z.string() })
      .nullable()
      .describe('the user in control; null: the agent'),
    control_until: timestamp.nullable(),
    url: z.string().nullable(),
    title: z.string().nullable(),
    tabs: z.array(BrowserTab),
    viewport: z.object({ width: z.int(), height: z.int() }),
  })
  .meta({ id: 'Browser' })
export type BrowserView = z.output<typeof BrowserView>

export const BROWSER_ROUTES = {
  getBrowser: {
    method: 'GET',
    path: '/sessions/{id}/browser',
    summary: 'Get the browser of a session; 404 `no_browser` if it has none',
    ...onSession,
    status: 200,
    answer: BrowserView,
  },
  controlBrowser: {
    method: 'POST',
    path: '/sessions/{id}/browser/control',
    errors: ['control_held', 'no_browser', 'browser_unavailable'],
    summary: 'Take or release control of the browser. One user at a time; an administrator may force it',
    ...byPerson,
    body: z.strictObject({
      action: z.enum(['acquire', 'release', 'force']),
      inbox_item_id: z.string().optional().describe('the inbox item that asks for it'),
    }),
    status: 200,
    answer: z.object({
      outcome: z.enum(['granted', 'refreshed', 'released']),
      control_until: timestamp.nullable(),
    }),
  },
  destroyBrowser: {
    method: 'DELETE',
    path: '/sessions/{id}/browser',
    summary: 'Close the browser',
    ...onSession,
    status: 204,
  },
  browserScreenshot: {
    method: 'GET',
    path: '/sessions/{id}/browser/screenshot',
    summary: 'Get a screenshot of the browser; 404 while another user controls it',
    ...onSession,
    status: 200,
    answer: z.object({ image: z.string().describe('a data: URL with a JPEG') }),
  },
  browserTicket: {
    method: 'POST',
    path: '/sessions/{id}/browser/live-ticket',
    errors: ['no_browser', 'no_control', 'browser_unavailable'],
    summary:
      'Create a ticket for the live view, valid once within 30 s: open a WebSocket to ' +
      '`/v1/sessions/{id}/browser/live?ticket=`; 404 `no_browser` if the session has none',
    ...byPerson,
    status: 200,
    answer: z.object({ ticket: z.string(), expires_at: timestamp }),
  },
} as const satisfies Record<string, Route>
