/** The tools that only read: histories and lists of sessions. */
import { findSession, visibleTo } from '@cairn/sessions'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { agentNames } from '../deps.ts'
import { textResult } from './report.ts'
import { READS, SessionId, tool } from './tool.ts'
import { readTranscript } from './transcript.ts'

const MAX_PAGE = 100
const Limit = z.int().min(1).max(MAX_PAGE).default(20)
const Cursor = z.string().max(1000).optional().describe('next_cursor of the previous page')

export const readSession = tool(
  {
    name: 'read_session',
    title: 'Read a session',
    description: 'Read the history of a session: messages, answers, tool calls and decisions, oldest first.',
    hints: READS,
  },
  z.object({
    session_id: SessionId,
    after: z.int().min(0).default(0).describe('`next` of the previous page'),
    limit: Limit,
  }),
  async ({ session_id, after, limit }, { deps, principal }) => {
    const session = await findSession(deps.store, principal, session_id)
    const { entries, next } = await readTranscript(deps, session.id, after, limit)
    return listed(entries, { session_id, title: session.title, next })
  },
)

const listed = (entries: readonly object[], more: Record<string, unknown>): CallToolResult => {
  const data = { ...more, entries }
  return textResult(JSON.stringify(data), data)
}

type Row = Awaited<ReturnType<typeof findSession>>
const shownSession = ({ id, title, agent, status, updated_at }: Row) => ({
  session_id: id,
  title,
  agent,
  status,
  updated_at: new Date(updated_at).toISOString(),
})

export const search = tool(
  {
    name: 'search',
    title: 'Search sessions',
    description: 'Find sessions whose texts contain all of the words.',
    hints: READS,
  },
  z.object({ q: z.string().min(1).max(500).describe('words'), limit: Limit, cursor: Cursor }),
  async ({ q, limit, cursor }, { deps, principal }) => {
    const { found, next_cursor } = await deps.store.search.find({
      ...visibleTo(principal),
      words: q,
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    })
    const entries = found.map(({ session, hits }) => ({ ...shownSession(session), hits }))
    return listed(entries, { next_cursor })
  },
)

export const listSessions = tool(
  {
    name: 'list_sessions',
    title: 'List sessions',
    description: 'List the sessions that you may see, newest first.',
    hints: READS,
  },
  z.object({ limit: Limit, cursor: Cursor }),
  async ({ limit, cursor }, { deps, principal }) => {
    const { sessions, next_cursor } = await deps.store.sessions.list({
      ...visibleTo(principal),
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    })
    return listed(sessions.map(shownSession), { next_cursor, agents: agentNames(deps) })
  },
)
