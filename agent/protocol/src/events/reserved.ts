/** Types that are declared and never produced. */
import { def } from './define.ts'
import { compact } from './event-text.ts'

/** Declared so that old clients can parse it. Nothing writes it, and a writer does not compile. */
const reserved = (of: string) =>
  def(
    'none',
    'reserved',
    `Reserved (${of}); nothing writes it.`,
    {},
    {
      summary: d => `reserved ${Object.keys(d).length === 0 ? '' : compact(d)}`.trim(),
    },
  )

export const RESERVED_EVENTS = {
  'session.start': reserved('session'),
  'session.reset': reserved('session'),
  'memory.update': reserved('memory'),
  'artifact.updated': reserved('artifact'),
  'ambient.tick': reserved('ambient'),
  'ambient.post': reserved('ambient'),
  'sandbox.provision': reserved('sandbox'),
  'sandbox.execute': reserved('sandbox'),
  'sandbox.result': reserved('sandbox'),
  'sandbox.destroy': reserved('sandbox'),
  'research.dispatched': reserved('research'),
  'research.merged': reserved('research'),
  'research.pruned': reserved('research'),
  'research.report': reserved('research'),
} as const
