/** What a capability asks of a turn, as data: the next step is decided from it. */
import type { Position } from './position.ts'

export type FinishReason = 'completed' | 'budget_exhausted' | 'tool_loop'

/** What a capability wants, decided from the position alone: pure, with its settings bound. */
export type Asks<D> = {
  first?(position: Position): D | null
  at_rest?(position: Position): FinishReason | null
  /** The turn is over although the model could be called again. */
  isOver?(position: Position): FinishReason | null
  /** The next call has no tools and must answer. */
  isLast?(position: Position): boolean
  before_request?(position: Position, request: { with_tools: boolean }): D | null
  at_end?(position: Position, reason: FinishReason): D | null
}

/** A capability as the decision sees it: its name and its decisions, with its settings bound. */
export type Asking = { readonly name: string; readonly asks: Asks<unknown> }
