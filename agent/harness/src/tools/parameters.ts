/** Creates a tool from a typed schema and a function that takes its parsed arguments. */
import type { EventDraft } from '@cairn/protocol'
import { z } from 'zod'
import type { Tool, ToolContext, ToolOutcome } from './tool.ts'

type Described<S extends z.ZodObject> = Omit<
  Tool,
  'parameters' | 'run' | 'timeoutMs' | 'begins' | 'lost' | 'changes'
> & {
  parameters: S
  run(args: z.output<S>, context: ToolContext): Promise<ToolOutcome>
  timeoutMs?(args: z.output<S>): number | undefined
  changes?(args: z.output<S>, workspace: string): Promise<readonly string[]>
  begins?(args: z.output<S>, toolCallId: string): readonly EventDraft[]
  lost?(args: z.output<S>, toolCallId: string): readonly EventDraft[]
}

/**
 * A tool whose `run` receives exactly what its schema parses; callers pass arguments parsed by that schema.
 */
export function defineTool<S extends z.ZodObject>(tool: Described<S>): Tool {
  const { run, timeoutMs, changes, begins, lost, ...rest } = tool
  return {
    ...rest,
    run: (args, context) => run(args as z.output<S>, context),
    ...(timeoutMs === undefined ? {} : { timeoutMs: args => timeoutMs(args as z.output<S>) }),
    ...(changes === undefined
      ? {}
      : { changes: (args, workspace) => changes(args as z.output<S>, workspace) }),
    ...(begins === undefined
      ? {}
      : { begins: (args, toolCallId) => begins(args as z.output<S>, toolCallId) }),
    ...(lost === undefined ? {} : { lost: (args, toolCallId) => lost(args as z.output<S>, toolCallId) }),
  }
}

/** Cache by schema: every turn shows the same tools, and converting all of them takes milliseconds. */
const shown = new WeakMap<object, Readonly<Record<string, unknown>>>()

/** The JSON Schema that the model sees. */
export function toolJsonSchema({ jsonSchema, parameters }: Tool): Readonly<Record<string, unknown>> {
  const given = jsonSchema ?? parameters
  const known = shown.get(given)
  if (known !== undefined) return known
  const { $schema: _, ...schema } = jsonSchema ?? z.toJSONSchema(parameters, { io: 'input' })
  shown.set(given, schema)
  return schema
}
