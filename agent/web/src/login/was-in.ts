/** Whether this browser is logged in as far as it knows: a 401 then means that the login has expired. */
const KEY = 'cairn-was-in'

export const wasIn = (): boolean => localStorage.getItem(KEY) !== null

export function noteIn(isIn: boolean): void {
  if (isIn) localStorage.setItem(KEY, '1')
  else localStorage.removeItem(KEY)
}
