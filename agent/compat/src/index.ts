/**
 * APIs of other projects, served from the same log: their clients work unchanged.
 *
 * exchange   a message of a person and everything up to the next one
 * change     what an event means for a chat client, independent of any API
 * frame      what one API sends for a change
 * gate       an approval that a call waits for
 * ask        a question or an action that the turn waits for
 * at rest    nothing of an exchange runs
 */
import { AppError } from '@cairn/protocol'
import { A2A, serveCard, WELL_KNOWN } from './a2a/card.ts'
import { a2aError } from './a2a/errors.ts'
import { handleA2a } from './a2a/rpc.ts'
import { AG_UI, handleAgUi } from './ag-ui/routes.ts'
import { AI_SDK, handleAiSdk } from './ai-sdk/routes.ts'
import { anthropicError } from './managed-agents/errors.ts'
import { handleManagedAgents, MANAGED_AGENTS } from './managed-agents/routes.ts'
import { openaiError } from './openai/errors.ts'
import { handleOpenai, OPENAI } from './openai/routes.ts'
import { corsHeaders } from './request/cors.ts'
import { handleMcp, MCP, mcpErrorFor, RESOURCE_METADATA, resourceMetadata } from './mcp/mount.ts'
import type { Caller, CallerRequest, CompatDeps, CompatRequest } from './deps.ts'

export type { CompatDeps } from './deps.ts'

/** A path prefix with its handler, as the HTTP service mounts it. */
export type CompatMount = {
  prefix: string
  /** Absent: the route is public. */
  identify?: true
  handle(request: CompatRequest): Promise<Response>
  headersFor(path: string, headers: Headers): Record<string, string>
  errorFor?(error: AppError, requestId: string): Response
}
type Handler = (deps: CompatDeps, request: CallerRequest) => Promise<Response>

/** The mounts of the APIs that the configuration enables. */
export function compatMounts(deps: CompatDeps): CompatMount[] {
  const { ai_sdk, openai, managed_agents, ag_ui, a2a, mcp, origins } = deps.config.compat
  const headersFor: CompatMount['headersFor'] = (_, headers) => corsHeaders(origins, headers)
  const mount = (prefix: string, handle: Handler, more: Pick<CompatMount, 'errorFor'> = {}): CompatMount => ({
    prefix,
    identify: true,
    headersFor,
    handle: async request =>
      hasCaller(request) ? handle(deps, request) : new Response(null, { status: 204 }),
    ...more,
  })
  const card = (prefix: string): CompatMount => ({
    prefix,
    headersFor,
    handle: request => Promise.resolve(serveCard(deps, request)),
  })
  return [
    ...(ai_sdk ? [mount(AI_SDK, handleAiSdk)] : []),
    ...(openai ? [mount(OPENAI, handleOpenai, { errorFor: openaiError })] : []),
    ...(ag_ui ? [mount(AG_UI, handleAgUi)] : []),
    ...(managed_agents ? [mount(MANAGED_AGENTS, handleManagedAgents, { errorFor: anthropicError })] : []),
    // The card of an agent is below its own path, and is found first.
    ...(a2a.agents.length === 0
      ? []
      : [
          card(WELL_KNOWN),
          ...a2a.agents.map(agent => card(`${A2A}${encodeURIComponent(agent)}${WELL_KNOWN}`)),
          mount(A2A, handleA2a, { errorFor: a2aError }),
        ]),
    ...(mcp ? mcpMounts(deps, mount) : []),
  ]
}

type MountApi = (prefix: string, handle: Handler, more?: Pick<CompatMount, 'errorFor'>) => CompatMount

const mcpMounts = (deps: CompatDeps, mount: MountApi): CompatMount[] => [
  mount(MCP, handleMcp(deps), { errorFor: mcpErrorFor(deps.config) }),
  {
    prefix: RESOURCE_METADATA,
    headersFor: () => ({}),
    handle: async ({ path }) => resourceMetadata(deps.config, path),
  },
]

const hasCaller = (request: CompatRequest): request is CompatRequest & { caller: Caller } =>
  request.caller !== null
