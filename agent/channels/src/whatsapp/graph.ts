/** Calls of the Graph API. Throws SendFailed. */
import { limitResponse } from '@cairn/protocol'
import { lostCall } from '../lost-call.ts'
import { readAtMost } from '../read-at-most.ts'
import { failureOf } from './failures.ts'

export type GraphOptions = {
  phoneNumberId: string
  token: string
  /** Ends with a slash. */
  apiUrl: string
  now: () => number
}
const CALL_MS = 15_000
/** Limit of JSON responses; files have their own limits. */
const MAX_ANSWER_BYTES = 1024 * 1024
const META = /(^|\.)(facebook\.com|fbsbx\.com|whatsapp\.net)$/

export function createGraph({ phoneNumberId, token, apiUrl, now }: GraphOptions) {
  async function ask(path: string, signal: AbortSignal, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(new URL(path, apiUrl), {
      ...init,
      redirect: 'error',
      headers: { ...init.headers, authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]),
    }).catch((error: unknown) => Promise.reject(lostCall('WhatsApp', error)))
    if (response.ok) return response
    const { error } = (await limitResponse(response, MAX_ANSWER_BYTES)
      .json()
      .catch(() => ({}))) as { error?: { code?: number } }
    throw failureOf(response.status, error?.code ?? null, response.headers, now())
  }

  return {
    async post(body: Record<string, unknown>, signal: AbortSignal): Promise<{ message_id: string | null }> {
      const response = await ask(`${phoneNumberId}/messages`, signal, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ messaging_product: 'whatsapp', ...body }),
      })
      const { messages } = (await limitResponse(response, MAX_ANSWER_BYTES)
        .json()
        .catch(() => ({}))) as { messages?: { id?: string }[] }
      return { message_id: messages?.[0]?.id ?? null }
    },

    /**
     * Takes two calls: the URL, then the file. Both need the token, so the second goes to Meta's hosts only.
     */
    async fetchMedia(id: string, mostBytes: number, signal: AbortSignal): Promise<Uint8Array> {
      const answer = limitResponse(await ask(encodeURIComponent(id), signal), MAX_ANSWER_BYTES)
      const { url, file_size = 0 } = (await answer.json()) as {
        url: string
        file_size?: number
      }
      if (file_size > mostBytes) throw new Error(`the file has ${file_size} bytes, more than ${mostBytes}`)
      const { host, hostname } = new URL(url)
      if (host !== new URL(apiUrl).host && !META.test(hostname))
        throw new Error(`the file is at ${hostname}, which is not a WhatsApp host`)
      return readAtMost(await ask(url, signal), mostBytes)
    },
  }
}
