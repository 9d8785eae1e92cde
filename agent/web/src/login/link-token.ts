/**
 * The one-time token of a login link: taken out of the address at once, so that it is in no history and no
 * screenshot.
 */

let token: string | null = null

/** Reads `#token=…` and removes it from the address. Called before the router looks at it. */
export function takeTokenFromAddress(location: Location, history: History): void {
  const found = new URLSearchParams(location.hash.slice(1)).get('token')
  if (location.pathname !== '/login' || found === null) return
  token = found
  history.replaceState(history.state, '', location.pathname + location.search)
}

/** The token, once: it is good for one login. */
export function takeToken(): string | null {
  const taken = token
  token = null
  return taken
}
