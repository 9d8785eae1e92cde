/** How a tool of the MCP server is defined: its arguments are checked before its command runs. */
import { AppError, type Principal } from '@cairn/protocol'
import type { Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { CompatDeps } from '../deps.ts'
import { failedCall } from './errors.ts'
import type { McpTool, ToolCall, ToolOutcome } from './server.ts'

export const SessionId = z.string().max(100).describe('id of the session')

export type Call = ToolCall & { deps: CompatDeps; principal: Principal }

type Hints = NonNullable<Tool['annotations']>
export const READS: Hints = { readOnlyHint: true, openWorldHint: false }
export const WRITES: Hints = { readOnlyHint: false, destructiveHint: false, openWorldHint: true }

/** A tool whose arguments are checked; what the caller did wrong is a result that the model reads. */
export function tool<S extends z.ZodObject>(
  { name, title, description, hints }: { name: string; title: string; description: string; hints: Hints },
  schema: S,
  run: (args: z.infer<S>, call: Call) => Promise<ToolOutcome>,
): (deps: CompatDeps, principal: Principal) => McpTool {
  const strict = schema.strict()
  const inputSchema = z.toJSONSchema(strict, { io: 'input' }) as Tool['inputSchema']
  return (deps, principal) => ({
    definition: { name, title, description, inputSchema, annotations: hints },
    async run(args, call) {
      const parsed = strict.safeParse(args)
      if (!parsed.success) {
        const [issue] = parsed.error.issues
        return failedCall(
          `Invalid arguments: ${issue?.path.join('.') || name}: ${issue?.message ?? 'invalid'}.`,
        )
      }
      try {
        return await run(parsed.data as z.infer<S>, { ...call, deps, principal })
      } catch (error) {
        if (error instanceof AppError && error.status < 500) return failedCall(error.message)
        throw error
      }
    },
  })
}
