/**
 * What each key of a request means here. Every key that the clients of OpenAI and vLLM document has a row: it
 * is done, or refused with the reason. None is ignored, so no answer silently differs from what was asked.
 */
export type Parameter =
  | { done: string }
  | {
      refused: string
      /** Values that are accepted, since they change nothing. */
      but?: readonly unknown[]
    }

export type ParameterTable = Readonly<Record<string, Parameter>>

/** Documents a key that is accepted and has no effect by its meaning. */
export const NO_EFFECT = 'accepted; no effect'
