/** Artifacts. */
import { z } from 'zod'
import { def } from './define.ts'
import { join, formatSize } from './event-text.ts'
import { id, count } from './fields.ts'
import { ARTIFACT_KINDS } from './shapes.ts'

export const ARTIFACT_EVENTS = {
  'artifact.created': def(
    'tools',
    'tools',
    'create_artifact produced an inline artifact; metadata only.',
    {},
    {
      channel: true,
      extra: {
        artifact_id: id,
        name: z.string(),
        kind: z.enum(ARTIFACT_KINDS),
        version: z.int().positive(),
        size: count,
        tool_call_id: id.optional(),
        originating_session_id: id.optional(),
      },
      worker: true,
      summary: d => join(d.name, d.kind, d.version > 1 && `version ${d.version}`, formatSize(d.size)),
    },
  ),
} as const
