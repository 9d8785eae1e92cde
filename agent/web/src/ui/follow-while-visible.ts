/** What a page holds while it can be seen. */

/** A hidden page gives its subscriptions and connections back after this long. */
const HIDDEN_MS = 20_000

/** Keeps something running while the page can be seen, and for a while after; or as long as it is wanted. */
export function followWhileVisible(start: () => () => void, isWanted = () => false): () => void {
  let stop: (() => void) | null = start()
  let timer: ReturnType<typeof setTimeout> | undefined
  const giveBack = () => {
    if (isWanted()) timer = setTimeout(giveBack, HIDDEN_MS)
    else {
      stop?.()
      stop = null
    }
  }
  const change = () => {
    clearTimeout(timer)
    if (document.visibilityState === 'visible') stop ??= start()
    else timer = setTimeout(giveBack, HIDDEN_MS)
  }
  // A page may be opened in a tab that nobody looks at.
  change()
  document.addEventListener('visibilitychange', change)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', change)
    stop?.()
  }
}
