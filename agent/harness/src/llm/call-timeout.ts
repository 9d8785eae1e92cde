/**
 * A server that sends signs of life for ever is not silent: a call has an end all the same (decision 0015).
 */
import type { Config } from '@cairn/protocol'
import type { Clock } from '../clock.ts'
import { ModelError } from './provider.ts'

/** Calls `end` when a call has taken as long as one may; returns how to stop waiting for that. */
export const startCallTimeout = (
  clock: Clock,
  { llm_call_s }: Pick<Config['limits'], 'llm_call_s'>,
  end: (error: ModelError) => void,
): (() => void) =>
  clock.after(llm_call_s * 1000, () =>
    end(
      new ModelError(
        'timeout',
        `[model call] the answer is not over after ${llm_call_s} s (limits.llm_call_s)`,
        {
          retryable: false,
        },
      ),
    ),
  )
