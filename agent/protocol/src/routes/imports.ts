/** Imports of conversations that another program recorded (contract 6.12). */
import { z } from 'zod'
import { ImportedMessage } from '../events/index.ts'
import { Session } from '../resources/index.ts'
import { onSession } from './fields.ts'
import type { Route } from './route.ts'

/** Bytes of the body of an import: a part may contain one long result. */
export const MAX_IMPORT_BYTES = 4 * 1024 * 1024

const key = z.string().min(1).max(512)

export const ImportPart = z.strictObject({
  format: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be a-z, 0-9 and "-", beginning with a letter, at most 32')
    .describe(
      'the format of the source, such as `claude-code`; together with `source_id` it names the session',
    ),
  source_id: key.describe('the id of the conversation in its source'),
  first: z
    .int()
    .nonnegative()
    .describe('position of `messages[0]` in the conversation; earlier messages must be imported already'),
  messages: z
    .array(ImportedMessage)
    .max(10_000)
    .describe('none: only returns what has been imported. Every call needs its result in the same part'),
  agent: z.string().optional().describe('the agent that continues the session'),
  title: z.string().min(1).max(256).optional(),
  system: z.string().min(1).optional().describe('the system prompt of the session'),
  tool_version: key.optional(),
  parent_source_id: key.optional(),
})

export const IMPORT_ROUTES = {
  importPart: {
    method: 'POST',
    path: '/imports',
    errors: ['unknown_agent', 'wrong_state'],
    summary: 'Import messages that another program recorded. The same messages again add nothing',
    ...onSession,
    maxBytes: MAX_IMPORT_BYTES,
    body: ImportPart,
    status: 200,
    answer: z.object({
      session: Session.nullable().describe('null: nothing has been imported, and nothing was sent'),
      added: z.int().describe('messages that this request added'),
      total: z.int().describe('messages of the conversation that have been imported'),
      sha256: z.string().describe('their hash; empty without messages'),
      continued: z.boolean().describe('true: the session continued here, so nothing can be added'),
    }),
  },
} as const satisfies Record<string, Route>
