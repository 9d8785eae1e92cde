/**
 * The meaning of each request key. Every key that the clients of OpenAI and vLLM document has a row: it is
 * implemented, or rejected with the reason. None is ignored, so no answer silently differs from the request.
 */
export type Parameter =
  | { done: string }
  | {
      refused: string
      /** Values that are accepted, because they change nothing. */
      but?: readonly unknown[]
    }

export type ParameterTable = Readonly<Record<string, Parameter>>

/** Documents a key that is accepted and has no effect by definition. */
export const NO_EFFECT = 'accepted; no effect'
