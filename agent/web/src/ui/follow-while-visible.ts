/** Subscriptions of a visible page. */

/** A hidden page closes its subscriptions and connections after this time. */
const HIDDEN_MS = 20_000

/** Runs `start` while the page is visible and for HIDDEN_MS longer; with `isWanted`, also while hidden. */
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
  // The page may be opened in a background tab.
  change()
  document.addEventListener('visibilitychange', change)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', change)
    stop?.()
  }
}
