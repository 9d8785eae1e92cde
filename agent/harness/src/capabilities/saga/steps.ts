/** The steps of a running saga, written in the commits of their calls (contract 14.8, 10). */
import { asError, type AgentConfig, MAX_DEPTH, nestsTooDeep, clip } from '@cairn/protocol'
import type { SagaState, SagaStep } from '@cairn/state'
import type { Clock } from '@cairn/models/clock'
import type { CallSteps, EndedCall } from '../../tools/call-steps.ts'
import type { Tool } from '../../tools/tool.ts'
import { stepBegin, stepCommitted, stepFailed } from './events.ts'
import { fillUndoArguments } from './undo-arguments.ts'

const EXCERPT_CHARS = 500

const isStep = (tool: Tool): boolean => !tool.readOnly && tool.changesSessionOnly !== true

/** The keys of every step event: its call, and its undo as far as known. */
export const stepKeys = (step: SagaStep, saga_id: string, clock: Clock) => ({
  saga_id,
  step_id: step.step_id,
  tool_name: step.tool_name,
  timestamp: clock.now() / 1000,
  ...(step.tool_call_id === null ? {} : { tool_call_id: step.tool_call_id }),
  ...(step.compensation_tool === null ? {} : { compensation_tool: step.compensation_tool }),
  ...(step.compensation_args === null ? {} : { compensation_args: step.compensation_args }),
  ...(step.checkpoint_hash === null ? {} : { checkpoint_hash: step.checkpoint_hash }),
})

export function sagaSteps(
  saga_id: string,
  undo: AgentConfig['saga']['undo'],
  around: { clock: Clock; newId: () => string; saga: () => SagaState },
): CallSteps {
  const { clock, newId } = around
  const executing = (tool_call_id: string): SagaStep | undefined => {
    const saga = around.saga()
    return saga?.saga_id === saga_id
      ? saga.steps.find(step => step.tool_call_id === tool_call_id && step.state === 'executing')
      : undefined
  }
  return {
    begin(tool, { tool_call_id, arguments: args, checkpoint_hash }) {
      if (!isStep(tool)) return []
      const declared = checkpoint_hash === undefined ? undo[tool.name] : undefined
      return [
        stepBegin({
          saga_id,
          step_id: newId(),
          tool_name: tool.name,
          state: 'executing',
          timestamp: clock.now() / 1000,
          tool_call_id,
          arguments: args,
          ...(declared ? { compensation_tool: declared.tool } : {}),
          ...(checkpoint_hash === undefined ? {} : { checkpoint_hash }),
        }),
      ]
    },
    end(tool_call_id, ended) {
      const step = executing(tool_call_id)
      if (step === undefined) return []
      const keys = stepKeys(step, saga_id, clock)
      const excerpt = clip(ended.content, EXCERPT_CHARS)
      if (ended.failed) return [stepFailed({ ...keys, state: 'failed', error: excerpt })]
      return [
        stepCommitted({ ...keys, state: 'committed', result: excerpt, ...compensation(undo, step, ended) }),
      ]
    },
    isOver: (tool, tool_call_id) => isStep(tool) && executing(tool_call_id) === undefined,
  }
}

function compensation(
  undo: AgentConfig['saga']['undo'],
  { tool_name, compensation_tool }: SagaStep,
  { arguments: args, result }: EndedCall,
): { compensation_args?: Record<string, unknown>; error?: string } {
  const declared = undo[tool_name]
  if (compensation_tool === null || declared === undefined) return {}
  try {
    const compensation_args = fillUndoArguments(declared.args, {
      arguments: args,
      result: typeof result === 'string' ? parse(result) : result,
    })
    if (nestsTooDeep(compensation_args)) throw new Error(`they are nested deeper than ${MAX_DEPTH} levels`)
    return { compensation_args }
  } catch (error) {
    // The step took effect anyway; its undo will fail, and the log already says why.
    return { error: `the arguments of its undo cannot be filled: ${asError(error).message}` }
  }
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    return content
  }
}
