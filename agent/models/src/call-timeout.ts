/**
 * Limits the duration of a call: a server that keeps sending signs of life is not silent, but the call must
 * end (decision 0015).
 */
import type { Config } from '@cairn/protocol'
import type { Clock } from './clock.ts'
import { ModelError } from './provider.ts'

/** Calls `end` after the maximum duration of a call; returns a function that cancels it. */
export const startCallTimeout = (
  clock: Clock,
  { llm_call_s }: Pick<Config['limits'], 'llm_call_s'>,
  end: (error: ModelError) => void,
): (() => void) =>
  clock.after(llm_call_s * 1000, () =>
    end(
      new ModelError(
        'timeout',
        `[model call] the answer was not complete after ${llm_call_s} s (limits.llm_call_s)`,
        {
          retryable: false,
        },
      ),
    ),
  )
