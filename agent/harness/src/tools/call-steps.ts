/**
 * What a capability adds to the commits of a call: at its start and at its end. A saga records its steps this
 * way.
 */
import type { EventDraft } from '@cairn/protocol'
import type { Tool } from './tool.ts'

type BegunCall = {
  tool_call_id: string
  /** Masked, as in the tool.call. */ arguments: Record<string, unknown>
  checkpoint_hash?: string | undefined
}
export type EndedCall = {
  arguments: Record<string, unknown>
  /** What the model reads. */ content: string
  /** The tool's full result. */ result: unknown
  failed: boolean
}

/** Empty lists if the call is not a step: a read-only tool, or one that changes only the session. */
export type CallSteps = {
  begin(tool: Tool, called: BegunCall): EventDraft[]
  end(tool_call_id: string, ended: EndedCall): EventDraft[]
  /** Whether the effect of that call would not be a step, because its saga is over. */
  isOver(tool: Tool, tool_call_id: string): boolean
}

export const NO_STEPS: CallSteps = { begin: () => [], end: () => [], isOver: () => false }
