/** Streams of a page that may be hidden. */

/** A hidden page gives its connection back after this long; browsers allow only six to one server. */
const HIDDEN_MS = 20_000

/** Keeps something running while the page can be seen, and for a while after; or as long as it is wanted. */
export function followWhileVisible(start: () => () => void, isWanted = () => false): () => void {
  let stop: (() => void) | null = start()
  let timer: ReturnType<typeof setTimeout> | undefined
  const change = () => {
    clearTimeout(timer)
    if (document.visibilityState === 'visible') stop ??= start()
    else
      timer = setTimeout(() => {
        if (isWanted()) return
        stop?.()
        stop = null
      }, HIDDEN_MS)
  }
  document.addEventListener('visibilitychange', change)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', change)
    stop?.()
  }
}
