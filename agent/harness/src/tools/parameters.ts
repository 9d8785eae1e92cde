/** Makes a tool out of a typed schema and a function that takes its parsed arguments. */
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
 * A tool whose `run` sees exactly what its schema parses; the arguments handed to it were parsed by that
 * schema before.
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

/** By schema: made once, for every turn shows the same tools and it takes milliseconds for all of them. */
const shown = new WeakMap<object, Readonly<Record<string, unknown>>>()

/** The JSON Schema the model is shown. */
export function toolJsonSchema({ jsonSchema, parameters }: Tool): Readonly<Record<string, unknown>> {
  const given = jsonSchema ?? parameters
  const known = shown.get(given)
  if (known !== undefined) return known
  const { $schema: _, ...schema } = jsonSchema ?? z.toJSONSchema(parameters, { io: 'input' })
  shown.set(given, schema)
  return schema
}
