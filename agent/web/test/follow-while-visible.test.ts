import { afterEach, expect, test, vi } from 'vitest'
import { followWhileVisible } from '../src/ui/follow-while-visible.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** A page whose visibility the test sets, and the number of its subscriptions. */
function openPage(visibilityState: 'visible' | 'hidden', isWanted?: () => boolean) {
  vi.useFakeTimers()
  const page = Object.assign(new EventTarget(), { visibilityState })
  vi.stubGlobal('document', page)
  let held = 0
  const leave = followWhileVisible(() => {
    held++
    return () => void held--
  }, isWanted)
  return {
    held: () => held,
    leave,
    show(state: 'visible' | 'hidden') {
      page.visibilityState = state
      page.dispatchEvent(new Event('visibilitychange'))
    },
  }
}

/** Promise 4.23: A hidden page releases its streams. */
test('a page releases its streams 20 s after it was hidden, and opens them again when visible', () => {
  const page = openPage('visible')
  page.show('hidden')
  vi.advanceTimersByTime(19_000)
  expect(page.held()).toBe(1)
  vi.advanceTimersByTime(1_000)
  expect(page.held()).toBe(0)
  page.show('visible')
  expect(page.held()).toBe(1)
  page.leave()
  expect(page.held()).toBe(0)
})

test('a page opened in a background tab keeps no stream', () => {
  const page = openPage('hidden')
  vi.advanceTimersByTime(20_000)
  expect(page.held()).toBe(0)
})

test('a hidden page keeps a stream as long as it is wanted', () => {
  let isWanted = true
  const page = openPage('hidden', () => isWanted)
  vi.advanceTimersByTime(100_000)
  expect(page.held()).toBe(1)
  isWanted = false
  vi.advanceTimersByTime(20_000)
  expect(page.held()).toBe(0)
})
