/** What a session did: its strip and its last step. */
import type { ShapeKind } from '@cairn/protocol'

export const stripWords = {
  said: (text: string) => `“${text}”`,
  empty: 'No activity recorded yet',
  part: (kind: string, percent: number) => `${kind} ${percent} %`,
  kinds: {
    model: 'model',
    tool: 'tools',
    worker: 'workers',
    browser: 'browser',
    wait: 'waiting for you',
    failed: 'failed',
  } satisfies Record<ShapeKind, string>,
}
