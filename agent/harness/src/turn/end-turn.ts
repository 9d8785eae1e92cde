/**
 * The ends of a turn: each is one commit with its events, the cursor and the lease. `true` means that there
 * is more to do after all, because something arrived since the last read.
 */
import type { EventWithRows } from '@cairn/log'
import type { EventData } from '@cairn/protocol'
import { sessionCompleted, sessionFailed } from '@cairn/sessions'
import type { ModelError } from '@cairn/models'
import { workspaceMask } from '../tools/workspace-mask.ts'
import { atRest, cameMeanwhile } from './at-rest.ts'
import type { Ending, Turn } from './capability.ts'
import type { FinishReason } from './asks.ts'
import type { Append } from './session-log.ts'
import { sumUp, summarize } from './summaries.ts'

type Again = Promise<boolean>

/** What a failed model call means for the session. */
export function describeFailure(
  { category, message, retryable }: ModelError,
  retries: number,
): EventData<'session.fail'> {
  return {
    reason: retryable ? 'max_retries_exhausted' : 'llm_call_failed',
    error_category: category,
    error: message,
    retryable,
    attempts: retryable ? retries + 1 : 1,
  }
}

export const fail = (turn: Turn, data: EventData<'session.fail'>): Again =>
  end(turn, [sessionFailed({ ...data, error: workspaceMask(turn.workspace).mask(data.error) })])

export async function finish(turn: Turn, reason: FinishReason): Again {
  const endings: Ending[] = []
  for (const { onEnd } of turn.capabilities) if (onEnd) endings.push(await onEnd(turn, reason))
  const events: EventWithRows[] = [
    ...summarize(turn),
    ...endings.flatMap(ending => ending.before ?? []),
    ...sumUp(turn),
    sessionCompleted(reason, turn.worker_id),
    ...endings.flatMap(ending => ending.after ?? []),
  ]
  return settle(turn, events, { cursor: 'self', rows: endings.flatMap(ending => ending.rows ?? []) })
}

/**
 * The last commit of a turn: its end, the cursor and the lease together. A message that arrived since the
 * last read prevents it, and the turn continues.
 */
async function end(turn: Turn, events: readonly EventWithRows[]): Again {
  const rest = await atRest(turn.capabilities, turn)
  return settle(turn, [...summarize(turn), ...events, ...rest.events], { cursor: 'self', rows: rest.rows })
}

/** Nothing to do until an event requests work: releases the lease and marks everything seen as handled. */
export async function suspend(turn: Turn): Again {
  const { events, rows } = await atRest(turn.capabilities, turn)
  return settle(turn, events, { cursor: turn.log.position().last_id, rows })
}

export async function settle(turn: Turn, events: readonly EventWithRows[], append: Append): Again {
  const { log } = turn
  try {
    await log.append(events, { ...append, expect_no_work_after: log.position().last_id, release_lease: true })
    return false
  } catch (error) {
    if (cameMeanwhile(error)) return true
    throw error
  }
}

export async function giveBack({ store, lease }: Turn): Again {
  await store.leases.release(lease.session_id, lease.fence)
  return false
}
