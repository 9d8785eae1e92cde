/** One MCP server for one request: the tools of a surface, and the tasks that they start. */
import {
  type CallToolResult,
  type ClientCapabilities,
  type InputRequiredResult,
  type JSONRPCRequest,
  type McpRequestContext,
  ProtocolError,
  type Result,
  Server,
  type ServerCapabilities,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { invalidParams, protocolError, TASKS, tasksNeeded } from './errors.ts'

/** A task as `tasks/get` returns it. */
export type TaskState = {
  taskId: string
  createdAt: string
  lastUpdatedAt: string
  /** Milliseconds; null: the task is kept. */
  ttlMs: number | null
  pollIntervalMs: number
  statusMessage?: string
} & (
  | { status: 'working' | 'cancelled' }
  | { status: 'input_required'; inputRequests: Record<string, unknown> }
  | { status: 'completed'; result: CallToolResult }
  | { status: 'failed'; error: { code: number; message: string } }
)

/** The answer to `tools/call` that starts a task: the task without its outcome. */
export type StartedTask = Result & { resultType: 'task'; taskId: string }
export function startedTask(task: TaskState): StartedTask {
  const { taskId, status, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = task
  return { resultType: 'task', taskId, status, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs }
}

/** What a tool knows about its call. */
export type ToolCall = {
  signal: AbortSignal
  /** What the client says it can do. */
  capabilities: ClientCapabilities
  /** The client can poll a task. */
  takesTasks: boolean
  /** The client can ask its user with a form. */
  canElicit: boolean
  /** Answers to what the tool asked for in its last result. */
  inputResponses: Readonly<Record<string, unknown>> | null
  context: ServerContext
}
export type ToolOutcome = CallToolResult | InputRequiredResult | StartedTask
export type McpTool = {
  definition: Tool
  run(args: Record<string, unknown>, call: ToolCall): Promise<ToolOutcome>
}

/** Tasks by id. Each method throws an error of the protocol for an unknown id. */
export type TaskSource = {
  get(taskId: string): Promise<TaskState>
  update(taskId: string, responses: Readonly<Record<string, unknown>>): Promise<void>
  cancel(taskId: string): Promise<void>
}

export type Surface = {
  info: { name: string; title?: string; version: string }
  instructions?: string
  tools: readonly McpTool[]
  tasks: TaskSource
  capabilities?: ServerCapabilities
  /** Adds handlers of other methods. */
  extend?(server: Server): void
}

const isTask = (result: Result): result is StartedTask => result['resultType'] === 'task'

/** The SDK completes every result of `tools/call` to one with content; a started task has none. */
class TaskServer extends Server {
  protected override _wrapHandler(
    method: string,
    handler: (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>,
  ): (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result> {
    if (method !== 'tools/call') return super._wrapHandler(method, handler)
    return async (request, ctx) => {
      let task: StartedTask | null = null
      const wrapped = super._wrapHandler(method, async (checked, context) => {
        const result = await handler(checked, context)
        if (!isTask(result)) return result
        task = result
        return { content: [] }
      })
      const result = await wrapped(request, ctx)
      return task ?? result
    }
  }
}

const Empty = z.looseObject({})
const TaskId = z.looseObject({ taskId: z.string().max(200) })

export function createServer(surface: Surface, { era }: Pick<McpRequestContext, 'era'>): Server {
  const { info, instructions, tools, tasks, capabilities = {} } = surface
  const server = new TaskServer(info, {
    capabilities: {
      tools: {},
      ...(era === 'modern' ? { extensions: { [TASKS]: {} } } : {}),
      ...capabilities,
    },
    ...(instructions === undefined ? {} : { instructions }),
  })
  const byName = new Map(tools.map(tool => [tool.definition.name, tool]))
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(({ definition }) => definition) }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = byName.get(params.name)
    if (tool === undefined) throw invalidParams(`Unknown tool ${JSON.stringify(params.name.slice(0, 100))}.`)
    const { elicitation } = declared(server)
    const call: ToolCall = {
      signal: context.mcpReq.signal,
      capabilities: declared(server),
      takesTasks: takesTasks(server),
      // A client that names no mode, as before modes existed, means forms.
      canElicit:
        elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
      inputResponses: context.mcpReq.inputResponses ?? null,
      context,
    }
    return withProtocolErrors(async () => (await tool.run(params.arguments ?? {}, call)) as CallToolResult)
  })
  if (era === 'modern') addTasks(server, tasks)
  surface.extend?.(server)
  return server
}

const declared = (server: Server): ClientCapabilities => server.getClientCapabilities() ?? {}
const takesTasks = (server: Server): boolean => declared(server).extensions?.[TASKS] !== undefined

function addTasks(server: Server, tasks: TaskSource): void {
  const add = (method: string, run: (taskId: string, context: ServerContext) => Promise<Result>): void =>
    server.setRequestHandler(method, { params: Empty }, async (given, context) => {
      if (!takesTasks(server)) throw tasksNeeded()
      const parsed = TaskId.safeParse(given)
      if (!parsed.success) throw invalidParams(`${method}: taskId must be a string.`)
      return withProtocolErrors(() => run(parsed.data.taskId, context))
    })
  add('tasks/get', async taskId => ({ ...(await tasks.get(taskId)) }))
  // The SDK takes the responses out of the params, and leaves out those that have no form of a response.
  add('tasks/update', async (taskId, { mcpReq: { inputResponses, droppedInputResponseKeys } }) => {
    if (inputResponses === undefined && droppedInputResponseKeys === undefined)
      throw invalidParams('tasks/update: inputResponses must be an object.')
    await tasks.update(taskId, inputResponses ?? {})
    return {}
  })
  add('tasks/cancel', async taskId => {
    await tasks.cancel(taskId)
    return {}
  })
}

async function withProtocolErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw error instanceof ProtocolError ? error : protocolError(error)
  }
}
