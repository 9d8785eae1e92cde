import { ApiError } from '@cairn/client/unchecked'
import { expect, test } from 'vitest'
import { fakeBrowser, fakeServer, problem, settle, watch } from './live-server.ts'

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1)
const silent = { onItems: () => undefined, onFailed: () => undefined }

/**
 * Promise 4.23: Any number of pages share two connections, and each receives every event of its session once.
 */
test('ten pages share two connections, and each receives every event of its session once', async () => {
  const server = fakeServer()
  const browser = fakeBrowser(server)
  const shown = []
  for (let n = 0; n < 10; n++) {
    const id = `s${n % 5}`
    server.append(id, 3)
    const page = browser.page()
    page.followChanges(silent)
    shown.push({ id, ...watch(page, id) })
    await settle()
  }
  for (let n = 0; n < 5; n++) server.append(`s${n}`)
  await settle()
  for (const { ids, states } of shown) {
    expect(ids).toEqual(upTo(7))
    // Connections that replace others are not reported.
    expect(states).toEqual(['connecting', 'live'])
  }
  expect([server.connected(), server.connectionsMax()]).toEqual([2, 2])
})

test('switching a page to another session opens one connection, and the last page to leave closes both', async () => {
  const server = fakeServer()
  const browser = fakeBrowser(server)
  const [first, second] = [browser.page(), browser.page()]
  const stopChanges = first.followChanges(silent)
  const one = watch(first, 'a')
  const other = watch(second, 'b')
  await settle()
  const before = server.opened.length
  one.stop()
  const next = watch(first, 'c', 0)
  server.append('c', 2)
  await settle()
  expect([server.opened.length - before, server.followed(), next.ids]).toEqual([1, ['c', 'b'], [1, 2]])
  next.stop()
  await settle()
  expect(server.followed()).toEqual(['b'])
  other.stop()
  stopChanges()
  await settle()
  expect(server.connected()).toBe(0)
})

/** Promise 4.23: Pages lose and repeat no event when their shared worker dies. */
test('replaces a hub that dies silently, without losing or repeating an event', async () => {
  const server = fakeServer()
  const browser = fakeBrowser(server)
  const shown = ['a', 'a', 'b'].map(id => watch(browser.page(), id))
  server.append('a', 3)
  server.append('b', 3)
  await settle()
  await browser.beat()
  browser.endHub()
  server.append('a', 2)
  server.append('b', 2)
  await browser.beat(2)
  expect(shown.map(({ ids }) => ids.length)).toEqual([3, 3, 3])
  await browser.beat(1)
  server.append('a')
  server.append('b')
  await settle()
  for (const { ids, failures } of shown) expect([ids, failures]).toEqual([upTo(6), []])
})

test('a page that resumes continues at its cursor', async () => {
  const server = fakeServer()
  const browser = fakeBrowser(server)
  const page = browser.page()
  const { ids } = watch(page, 'a')
  server.append('a', 2)
  await settle()
  page.pause()
  await settle()
  expect(server.connected()).toBe(0)
  server.append('a', 2)
  page.resume()
  await settle()
  expect(ids).toEqual(upTo(4))
})

test('the hub drops a page that is silent for minutes, and keeps one that reports once a minute', async () => {
  const server = fakeServer()
  const browser = fakeBrowser(server)
  let isAlive = true
  watch(
    browser.page(() => isAlive),
    'crashed',
  )
  watch(browser.page(), 'hidden')
  await settle()
  isAlive = false
  await browser.beat(2, 60_000)
  expect(server.followed()).toEqual(['crashed', 'hidden'])
  await browser.beat(1, 60_000)
  expect(server.followed()).toEqual(['hidden'])
})

test('a rejected session fails alone; an expired login fails all', async () => {
  const server = fakeServer()
  const browser = fakeBrowser(server)
  server.state.missing.add('gone')
  const page = browser.page()
  const refused = watch(page, 'gone')
  const good = watch(page, 'good')
  await settle()
  server.append('good')
  await settle()
  expect(refused.failures).toEqual([problem(404, 'not_found')])
  expect(refused.failures[0]).toBeInstanceOf(ApiError)
  expect([good.ids, good.failures]).toEqual([[1], []])
  server.state.refusal = problem(401, 'unauthenticated')
  const late = watch(page, 'late')
  await settle()
  for (const { failures } of [good, late]) expect(failures).toEqual([problem(401, 'unauthenticated')])
  // A page that subscribes again is served again.
  server.state.refusal = null
  const again = watch(page, 'good', 1)
  server.append('good')
  await settle()
  expect(again.ids).toEqual([2])
})

/** Promise 4.23: A page receives no data of another user of the same browser. */
test('delivers no data of another user who logged in to the same browser', async () => {
  const server = fakeServer('somebody else')
  const browser = fakeBrowser(server)
  const page = browser.page()
  server.append('a', 2)
  const shown = watch(page, 'a')
  const told: unknown[] = []
  const failures: unknown[] = []
  page.followChanges({ onItems: items => told.push(...items), onFailed: error => failures.push(error) })
  await settle()
  server.append('a')
  await settle()
  expect([shown.ids, told, server.connected()]).toEqual([[], [], 0])
  const reload = new Error('Another user is now logged in. Reload the page.')
  expect([shown.failures, failures]).toEqual([[reload], [reload]])
})

test('every page receives changes, and a joining page reads its lists again', async () => {
  const server = fakeServer()
  const browser = fakeBrowser(server)
  const told = [0, 1].map(() => [] as string[])
  for (const types of told) {
    browser.page().followChanges({
      onItems: items => types.push(...items.map(({ type }) => type)),
      onFailed: () => undefined,
    })
    await settle()
  }
  server.change({ type: 'snapshot', items: [] })
  await settle()
  expect(told).toEqual([
    ['opened', 'snapshot'],
    ['opened', 'snapshot'],
  ])
})

test('a session beyond the server limit fails with the reason, and the others stay connected', async () => {
  const server = fakeServer()
  const page = fakeBrowser(server).page()
  const shown = Array.from({ length: 101 }, (_, at) => watch(page, `s${at}`))
  await settle()
  expect(server.followed()).toHaveLength(100)
  expect(shown.flatMap(({ failures }, at) => failures.map(error => [at, String(error)]))).toEqual([
    [100, 'Error: Too many sessions open in this browser: at most 100. Close a tab, then reload the page.'],
  ])
})
