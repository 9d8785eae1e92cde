/**
 * The one-time token of a login link. It is removed from the address at once, so that it does not appear in
 * the history or in screenshots.
 */

let token: string | null = null

/** Reads `#token=…` and removes it from the address. Must run before the router reads the address. */
export function takeTokenFromAddress(location: Location, history: History): void {
  const found = new URLSearchParams(location.hash.slice(1)).get('token')
  if (location.pathname !== '/login' || found === null) return
  token = found
  history.replaceState(history.state, '', location.pathname + location.search)
}

/** Returns the token once, because it is valid for one login. */
export function takeToken(): string | null {
  const taken = token
  token = null
  return taken
}
