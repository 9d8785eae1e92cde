/** Sends one batch to a collector, by OTLP over HTTP. */
import { asError } from '@cairn/protocol'

/** `retry`: the collector may accept the batch later. `refused`: it never will. */
export type Delivery =
  | { outcome: 'accepted'; rejected: number; why: string }
  | { outcome: 'retry'; why: string; afterMs: number | null }
  | { outcome: 'refused'; why: string }

export type Collector = {
  url: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
}

/** The statuses after which OTLP retries. */
const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504])
const MAX_ANSWER = 2_000

export async function sendBatch(
  { url, headers, timeoutMs }: Collector,
  body: string,
  stop: AbortSignal,
  fetchWith: typeof fetch = fetch,
): Promise<Delivery> {
  try {
    const response = await fetchWith(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]),
    })
    const text = (await response.text()).slice(0, MAX_ANSWER)
    if (response.ok) return { outcome: 'accepted', ...partialSuccess(text) }
    const why = `status ${response.status}: ${text.slice(0, 200)}`
    if (!RETRIED.has(response.status)) return { outcome: 'refused', why }
    const after = Number(response.headers.get('retry-after') ?? Number.NaN)
    return { outcome: 'retry', why, afterMs: Number.isFinite(after) ? after * 1000 : null }
  } catch (error) {
    // Down, unreachable or too slow: in each case the collector may accept the batch later.
    const { message, cause } = asError(error)
    const why = cause === undefined ? message : `${message}: ${asError(cause).message}`
    return { outcome: 'retry', why, afterMs: null }
  }
}

function partialSuccess(text: string): { rejected: number; why: string } {
  try {
    const { partialSuccess: partial } = JSON.parse(text) as {
      partialSuccess?: { rejectedSpans?: string | number; errorMessage?: string }
    }
    return { rejected: Number(partial?.rejectedSpans ?? 0), why: partial?.errorMessage ?? '' }
  } catch {
    return { rejected: 0, why: '' } // An empty answer, or one that is not JSON, is a success too.
  }
}
