/**
 * What a capability writes into the commits of a call: as it begins, and as it ends. A saga writes its steps
 * so.
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
  /** What the tool gave, uncut. */ result: unknown
  failed: boolean
}

/** Empty lists for what is no step: a tool that only reads, or one that changes the session alone. */
export type CallSteps = {
  begin(tool: Tool, called: BegunCall): EventDraft[]
  end(tool_call_id: string, ended: EndedCall): EventDraft[]
  /**
   * Whether an effect of that tool under that call would be no step: its step went with a saga that is over.
   */
  isOver(tool: Tool, tool_call_id: string): boolean
}

export const NO_STEPS: CallSteps = { begin: () => [], end: () => [], isOver: () => false }
