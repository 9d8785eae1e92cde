/**
 * What the model reads about a rollback when its session resumes; otherwise it would build on undone work.
 */
import type { Saga, SagaStep } from '@cairn/state'

const CUT = { paused: 'was paused', stopped: 'was stopped', failed: 'failed' } as const

/** Steps in the order of their undo, each by its tool and call. Null if nothing had taken effect. */
export function notifyModel({ steps, owed }: Pick<Saga, 'steps' | 'owed'>): string | null {
  const named = (state: SagaStep['state']): string[] =>
    steps
      .filter(step => step.state === state)
      .map(({ tool_name, tool_call_id }) =>
        tool_call_id === null ? tool_name : `${tool_name} (${tool_call_id})`,
      )
      .toReversed()
  const undone = named('compensated')
  const kept = named('compensation_failed')
  if (undone.length + kept.length === 0) return null
  return [
    `The work ${owed === null ? 'was interrupted' : CUT[owed]} before it was done, and its changes were ` +
      'rolled back. Check the current state before you rely on anything it did.',
    ...(undone.length > 0 ? [`Undone: ${undone.join(', ')}.`] : []),
    ...(kept.length > 0 ? [`Not undone, so the effect may still be there: ${kept.join(', ')}.`] : []),
  ].join('\n')
}
