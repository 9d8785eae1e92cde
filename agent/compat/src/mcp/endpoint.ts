/** The MCP server of a service: its tools and tasks for each caller, and the pages that may call it. */
import type { Principal } from '@cairn/protocol'
import type { CompatDeps } from '../deps.ts'
import { type Endpoint, handleMcpRequest } from './handler.ts'
import { LegacyExchanges } from './legacy.ts'
import { listenTo } from './listen.ts'
import type { McpRequest } from './request.ts'
import { createServer, type Surface } from './server.ts'
import { taskSource } from './tasks.ts'
import { cairnTools } from './tools.ts'

const INSTRUCTIONS =
  'Cairn runs agents that work in the background. start_session gives an agent work and returns at once; wait ' +
  'returns its answer, and what it needs from the user. Show the user what an agent asks, and never decide an ' +
  'approval without asking the user.'

type Config = CompatDeps['config']

/** Names under which a page on the same machine reaches the service. */
const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/**
 * A browser sends the origin of its page; programs send none. Without the check a page whose name resolves to
 * this machine could send requests (DNS rebinding).
 */
function allowsOrigin({ compat, public_url }: Config, origin: string): boolean {
  if (compat.origins.includes(origin)) return true
  if (!URL.canParse(origin)) return false
  if (public_url !== undefined && new URL(public_url).origin === origin) return true
  return LOOPBACK.includes(new URL(origin).hostname)
}

/** Opened once a process. */
export function openEndpoint(deps: CompatDeps): (request: McpRequest) => Promise<Response> {
  const info = { name: 'cairn', title: 'Cairn', version: deps.version }
  const surface = (principal: Principal): Surface => ({
    info,
    instructions: INSTRUCTIONS,
    tools: cairnTools(deps, principal),
    tasks: taskSource(deps, principal),
  })
  const endpoint: Endpoint = {
    serverFor: (principal, context) => createServer(surface(principal), context),
    listen: principal => listenTo(deps, principal, info),
    legacy: new LegacyExchanges(principal => createServer(surface(principal), { era: 'legacy' })),
    allowsOrigin: origin => allowsOrigin(deps.config, origin),
  }
  return request => handleMcpRequest(endpoint, request)
}
