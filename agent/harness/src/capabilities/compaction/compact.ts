/**
 * Compacts a conversation (contract 14.13, 7): one context.compact in one commit, or nothing. The events of
 * the older part stay in the log; only the model's input begins with the summary.
 */
import type { EventDraft } from '@cairn/protocol'
import type { CompactReason } from '@cairn/state'
import { ModelError, schemaText } from '@cairn/models'
import type { AskSettings, OverflowSaid } from '../../turn/capability.ts'
import type { TurnContext } from '../../turn/context.ts'
import { contextCompact } from '../../events.ts'
import { toolJsonSchema } from '../../tools/parameters.ts'
import type { Tool } from '../../tools/tool.ts'
import { carriedState } from './carried.ts'
import type { Cut } from './cut.ts'
import { cutAfterOverflow, cutDue, cutNow, type Window } from './due.ts'
import { tokensOfChars, tokensOfText } from './size.ts'
import { summarize } from './summarize.ts'
import { summaryMessage } from './summary-message.ts'

/** The context window of a turn's model; null for an unresolvable model, whose call will report the error. */
export function findWindow({ models, setup, tools, limits }: AskSettings): (model: string) => Window | null {
  const known = new Map<string, Window | null>()
  const overhead = tokensOfText(setup.system) + tools().reduce((sum, tool) => sum + tokensOfTool(tool), 0)
  return model => {
    const found = known.get(model)
    if (found !== undefined) return found
    const space = measure(model)
    known.set(model, space)
    return space
  }

  function measure(model: string): Window | null {
    try {
      const tokens = models.resolve(model).contextWindow
      return { tokens, compact_at: tokens * limits.compact_at, overhead }
    } catch (error) {
      if (error instanceof ModelError) return null
      throw error
    }
  }
}

const tokensOfTool = (tool: Tool): number =>
  tokensOfChars(tool.name.length + tool.description.length + schemaText(toolJsonSchema(tool)).length)

/** Compacts before a request that would take too much of the window. The position decides that it is due. */
export async function compactForThreshold(
  turn: TurnContext,
  window: Window,
  before: readonly EventDraft[],
): Promise<void> {
  const cut = cutDue(turn.log.position(), window)
  if (cut === null) throw new Error('[compaction] the conversation needs no compaction')
  await turn.log.append([...before, await composeCompaction(turn, cut, 'threshold')])
}

/**
 * Compacts because the server refused the request, as too long or without naming a cause; false if there is
 * nothing to compact, or it was already done.
 */
export async function compactForOverflow(turn: TurnContext, said: OverflowSaid): Promise<boolean> {
  const cut = cutAfterOverflow(turn.log.position(), said)
  if (cut === null) return false
  await turn.log.append([await composeCompaction(turn, cut, 'overflow')])
  return true
}

export type Compacted = { event: EventDraft; before: number; after: number }

/**
 * A compaction on request, to be committed by the caller; null if there is too little to compact, or calls
 * are open.
 */
export async function compactNow(turn: TurnContext): Promise<Compacted | null> {
  const cut = cutNow(turn.log.position().conversation)
  if (cut === null || cut.older.length < 2) return null
  return {
    event: await composeCompaction(turn, cut, 'command'),
    before: cut.older.length + cut.kept.length,
    after: 1 + cut.kept.length,
  }
}

async function composeCompaction(turn: TurnContext, cut: Cut, reason: CompactReason): Promise<EventDraft> {
  const { setup, models, clock, lease, limits, random, report } = turn
  const state = carriedState(turn.log.position())
  const { digest, spent } = await summarize(
    { models, clock, signal: lease.signal, random, limits, report },
    setup.agent.summary_model ?? setup.model,
    cut.older,
  )
  return contextCompact({
    strategy: 'summary',
    original_message_count: cut.older.length + cut.kept.length,
    compressed_message_count: 1 + cut.kept.length,
    through_event_id: cut.through_event_id,
    compacted_messages: [summaryMessage(digest, state)],
    reason,
    ...(digest.kind === 'shortened' ? { truncated: true } : {}),
    ...spent,
  })
}
