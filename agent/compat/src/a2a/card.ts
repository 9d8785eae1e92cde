/** The public description of an agent. */
import { AppError } from '@cairn/protocol'
import type { CompatDeps, CompatRequest } from '../deps.ts'

export const A2A = '/compat/a2a/'
export const WELL_KNOWN = '/.well-known/agent-card.json'

/** The address under which clients reach this service. */
export const baseOf = ({ config }: CompatDeps, { headers }: Pick<CompatRequest, 'headers'>): string =>
  (config.public_url ?? `http://${headers.get('host') ?? 'localhost'}`).replace(/\/$/, '')

function agentCard(deps: CompatDeps, request: CompatRequest, agent: string) {
  const url = `${baseOf(deps, request)}${A2A}${encodeURIComponent(agent)}`
  return {
    name: agent,
    description: `The agent ${agent} of a Cairn service.`,
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: ['text/plain', 'application/json', 'image/png', 'image/jpeg'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        id: 'chat',
        name: 'Chat',
        description: 'Works on what a message asks for, with the tools of the agent.',
        tags: ['chat', 'tools'],
      },
    ],
  }
}

/** At the well-known path of the service, which names the agent, and at that of an agent. */
export function serveCard(deps: CompatDeps, request: CompatRequest): Response {
  const { agents } = deps.config.compat.a2a
  const { path, query, method } = request
  if (method !== 'GET')
    throw new AppError('method_not_allowed', `Method ${method} not allowed. Allowed: GET.`)
  const [only, ...more] = agents
  const named =
    path === WELL_KNOWN
      ? (query.get('agent') ?? (more.length === 0 ? only : undefined))
      : agents.find(agent => path === `${A2A}${encodeURIComponent(agent)}${WELL_KNOWN}`)
  if (named === undefined || !agents.includes(named))
    throw new AppError('not_found', `Unknown agent. Add ?agent= with one of: ${agents.join(', ')}.`)
  return Response.json(agentCard(deps, request, named), { headers: { 'cache-control': 'no-store' } })
}
