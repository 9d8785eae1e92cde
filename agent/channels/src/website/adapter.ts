/** The website as a connection: visitors fetch their answers (site.ts), so nothing is sent. */
import { type Adapter, SendFailed } from '../adapter.ts'

export const createWebsiteAdapter = (connectionId: string): Adapter => ({
  platform: 'website',
  workspace: connectionId,
  limits: { text: 100_000, fileBytesIn: 0, fileBytesOut: 0 },
  delivery: 'keyed',
  webhook: null,
  send: () =>
    Promise.reject(
      new SendFailed('permanent', 'a website channel cannot send: its visitors fetch their messages'),
    ),
})
