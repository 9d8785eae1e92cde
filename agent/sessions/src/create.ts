/** Creates a session: a row without events, until the first message. */
import type { SessionRow } from '@cairn/log'
import { AppError, type Config, type Principal, SessionBudget } from '@cairn/protocol'
import { z } from 'zod'
import type { Deps } from './deps.ts'

/** Per-session configuration besides the agent; the harness parses it with the same schema. */
export const SessionConfig = z.strictObject({
  system: z.string().min(1).optional(),
  model: z
    .string()
    .regex(/^[^/\s]+\/\S+$/, 'must have the form <provider>/<model>')
    .optional(),
  max_iterations: z.int().min(1).optional().describe('can lower the budget of the agent, but not raise it'),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().positive().optional(),
  budget: SessionBudget.optional(),
})
export type SessionConfig = z.infer<typeof SessionConfig>

/** Configuration that only the server sets, for a child. */
export const ChildConfig = z.strictObject({
  role: z.enum(['leaf', 'orchestrator']),
  /** The agents of its ancestors, root first. A child is allowed no more than each of them. */
  ancestors: z.array(z.string()),
  /** Restricts the agent's tools. */
  tools: z.array(z.string()).optional(),
  /** The session whose workspace it uses; its own id if that is a copy. */
  workspace: z.string(),
  /** The session whose workspace was copied for it. */
  copied_from: z.string().optional(),
  /** The research and branch that it works on. */
  branch: z.strictObject({ run_id: z.string(), key: z.string() }).optional(),
  /** The schedule and the time that it is a run for. */
  run: z
    .strictObject({ schedule_id: z.string(), slot_at: z.int(), manual: z.boolean(), run_number: z.int() })
    .optional(),
})
export type ChildConfig = z.infer<typeof ChildConfig>
export const StoredSessionConfig = SessionConfig.extend({ child: ChildConfig.optional() })

/** The configuration of a child; null for a root. */
export function childConfig({ config }: Pick<SessionRow, 'config'>): ChildConfig | null {
  const parsed = ChildConfig.safeParse(config['child'])
  return parsed.success ? parsed.data : null
}

/** The budget of the session and its subtree; null if it has none. */
export function budgetOf({ config }: Pick<SessionRow, 'config'>): SessionBudget | null {
  const parsed = SessionBudget.safeParse(config['budget'])
  return parsed.success ? parsed.data : null
}

/** The session whose workspace this one uses. */
export const workspaceOf = (session: Pick<SessionRow, 'id' | 'config'>): string =>
  childConfig(session)?.workspace ?? session.id

export type CreateSession = {
  /** Absent for the default agent. */
  agent?: string | undefined
  title?: string | undefined
  channel?: string | undefined
  config?: Record<string, unknown> | undefined
  principal: Principal
  /** An id derived from the caller's own name of the session; a second creation with it returns the first. */
  id?: string
}

/** The agent of a session that names none. */
export const DEFAULT_AGENT = 'assistant'

/** The available agents: those of the configuration, and always the default one. */
export const agentNamesOf = ({ agents }: Pick<Config, 'agents'>): string[] => [
  ...new Set([DEFAULT_AGENT, ...Object.keys(agents)]),
]

/** `agents` are the configured names. */
export async function createSession(
  { store, newId }: Deps,
  agents: readonly string[],
  { agent = DEFAULT_AGENT, title, channel = 'web', config = {}, principal, id }: CreateSession,
): Promise<SessionRow> {
  if (!agents.includes(agent))
    throw new AppError(
      'unknown_agent',
      `Unknown agent ${JSON.stringify(agent)}. Available: ${agents.join(', ') || 'none'}.`,
    )
  const parsed = SessionConfig.safeParse(config)
  if (!parsed.success) {
    const errors = parsed.error.issues.map(issue => ({
      path: ['config', ...issue.path].join('.'),
      message: issue.message,
    }))
    throw new AppError(
      'invalid_body',
      `config: ${errors.map(error => `${error.path}: ${error.message}`).join('; ')}`,
      { extra: { errors } },
    )
  }
  const create = (): Promise<SessionRow> =>
    store.sessions.create({
      id: id ?? newId(),
      org_id: principal.org_id,
      created_by: principal.id,
      created_by_kind: principal.kind,
      agent,
      channel,
      title: title ?? null,
      ...(parsed.data.model === undefined ? {} : { model: parsed.data.model }),
      config: parsed.data,
    })
  return id === undefined ? create() : createOnce(store, id, create)
}

/** Two processes may create the session at the same time: the second finds that of the first. */
async function createOnce(
  { sessions }: Deps['store'],
  id: string,
  create: () => Promise<SessionRow>,
): Promise<SessionRow> {
  const existing = await sessions.get(id)
  if (existing !== null) return existing
  try {
    return await create()
  } catch (error) {
    const first = await sessions.get(id)
    if (first === null) throw error
    return first
  }
}
