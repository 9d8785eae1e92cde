/**
 * A refusal as text: servers put the reason under many names and within wrappers, so every string of the body
 * counts.
 */

export type Refusal = {
  /** Undefined: the error came within an answer. */
  status: number | undefined
  /** The part of the request that the server names, such as "tools[3].function.description"; or empty. */
  param: string
  /** Every text of the body. */
  text: string
}

const MAX_PARTS = 200

/** `body`: the parsed body or its `error`; `message`: what is known besides. */
export function readRefusal(status: number | undefined, body: unknown, message = ''): Refusal {
  const texts: string[] = message === '' ? [] : [message]
  const params: string[] = []
  const pending: unknown[] = [body]
  for (let at = 0; at < pending.length && at < MAX_PARTS; at++) {
    const value = pending[at]
    if (typeof value === 'string') {
      texts.push(value)
      // OpenRouter and other gateways quote the refusal of the server behind them as JSON text.
      const inner = /^\s*[[{]/.test(value) ? parse(value) : undefined
      if (inner !== undefined) pending.push(inner)
    } else if (typeof value === 'object' && value !== null) {
      const { param, loc } = value as Record<string, unknown>
      if (typeof param === 'string') params.push(param)
      // FastAPI: the path within the request.
      if (Array.isArray(loc)) params.push(loc.filter(step => step !== 'body').join('.'))
      pending.push(...Object.values(value))
    }
  }
  return { status, param: params.find(name => name !== '') ?? '', text: [...new Set(texts)].join(' · ') }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // A text that only looks like JSON has already been added as text.
    return undefined
  }
}
