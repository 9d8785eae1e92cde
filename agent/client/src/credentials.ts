/**
 * The caller's credentials: a bearer token or a cookie, and how to renew them when the server refuses them.
 */
import { ConnectionError } from './failure.ts'

type TokenSource = string | ((context: { refused: boolean }) => Promise<string>)
export type Credentials = {
  /** A bearer token, or a function that returns one; `refused` is true if the last one was not accepted. */
  token?: TokenSource | undefined
  /** Renews a cookie login after a 401. Concurrent requests share one renewal. */
  refresh?: (() => Promise<unknown>) | undefined
}

/** Sends a request with the caller's credentials; after a 401 it renews them once and retries. */
export type Send = (url: string, init: RequestInit) => Promise<Response>

export function sendWith(credentials: Credentials, fetcher: typeof fetch, base: RequestInit): Send {
  let renewal: Promise<void> | null = null
  /** Counts renewals, so that a request refused with older credentials does not renew again. */
  let generation = 0
  let current: string | null = null

  async function tokenOf(refused: boolean): Promise<string | null> {
    const { token } = credentials
    if (typeof token !== 'function') return token ?? null
    if (current === null || refused) current = await token({ refused })
    return current
  }

  function renew(sentWith: number): Promise<void> {
    if (sentWith !== generation) return Promise.resolve()
    renewal ??= (async () => {
      try {
        await (typeof credentials.token === 'function' ? tokenOf(true) : credentials.refresh?.())
        generation++
      } finally {
        renewal = null
      }
    })()
    return renewal
  }

  async function sendOnce(url: string, init: RequestInit, token: string | null): Promise<Response> {
    const headers = new Headers(base.headers)
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
    if (token !== null) headers.set('authorization', `Bearer ${token}`)
    try {
      return await fetcher(url, { ...base, ...init, headers })
    } catch (error) {
      if (init.signal?.aborted) throw init.signal.reason
      throw new ConnectionError(url, error)
    }
  }

  return async (url, init) => {
    const token = await tokenOf(false)
    const sentWith = generation
    const response = await sendOnce(url, init, token)
    const renewable = typeof credentials.token === 'function' || credentials.refresh !== undefined
    if (response.status !== 401 || !renewable) return response
    await response.body?.cancel()
    await renew(sentWith)
    return sendOnce(url, init, await tokenOf(false))
  }
}
