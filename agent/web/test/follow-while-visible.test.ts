import { afterEach, expect, test, vi } from 'vitest'
import { followWhileVisible } from '../src/ui/follow-while-visible.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** A page whose visibility the test sets, and what it holds. */
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
test('a page gives its streams back 20 s after it was hidden, and takes them again when it is seen', () => {
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

test('a page that is opened in a background tab keeps nothing', () => {
  const page = openPage('hidden')
  vi.advanceTimersByTime(20_000)
  expect(page.held()).toBe(0)
})

test('what is wanted while hidden is kept for as long as it is wanted', () => {
  let isWanted = true
  const page = openPage('hidden', () => isWanted)
  vi.advanceTimersByTime(100_000)
  expect(page.held()).toBe(1)
  isWanted = false
  vi.advanceTimersByTime(20_000)
  expect(page.held()).toBe(0)
})
