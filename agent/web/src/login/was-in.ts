/** Whether this browser was logged in, and nobody logged out: then a refused page is a login that ended. */
const KEY = 'cairn-was-in'

export const wasIn = (): boolean => localStorage.getItem(KEY) !== null

export function noteIn(isIn: boolean): void {
  if (isIn) localStorage.setItem(KEY, '1')
  else localStorage.removeItem(KEY)
}
