/** The demo tour in a real Chromium against the real service. */
import { expect, test } from 'vitest'
import { itemRow, showTab } from './inbox.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { by, POLL, startSession, untilCounted, write } from './page-session.ts'
import { makePlace, startService } from './server.ts'
import { endsTurn, isType, readLog, runTurn, waitFor } from './session.ts'

// These run in the page, so they are strings: this program has no DOM types.
/** Counts how often the streaming answer grows on the page. */
const WATCH_ANSWERS = `
  globalThis.grown = 0
  let last = 0
  new MutationObserver(() => {
    const length = document.querySelector('[data-testid="answer"][data-streaming]')?.textContent.length ?? 0
    if (last > 0 && length > last) grown += 1
    last = length
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })`
/** Records the id of every row that is ever drawn. */
const REMEMBER_ROWS =
  '\n' +
  '  globalThis.drawn = new Set()\n' +
  "  const look = () => { for (const row of document.querySelectorAll('[data-event-id]')) " +
  'drawn.add(Number(row.dataset.eventId)) }\n' +
  '  look()\n' +
  '  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: ' +
  'true })'

/** Promise 14.19, 11.7: The demo tour visits a page of the service itself and reaches no other local port. */
test('the demo tour runs from login to approval, and the page shows every event of it', async () => {
  const server = await startService(makePlace())
  expect(server.demo).toBe(true)
  const { page, troubles } = await openPage(await openBrowser())

  const id = await startSession(page, server.loginUrl, server.client)
  expect(page.url(), 'the token is not in the address').not.toContain('token')
  await by(page, 'demo-notice').waitFor()

  await page.evaluate(WATCH_ANSWERS)
  await write(page, 'Show me what you can do')
  await by(page, 'user-message').getByText('Show me what you can do').waitFor()

  // A plan, files, artifacts, and a question that is answered in the chat.
  await by(page, 'question-card', '[data-state="open"]').waitFor()
  await by(page, 'plan').click()
  await by(page, 'plan-list').getByText('Write and improve a file').last().waitFor()
  await by(page, 'rail-close').click()
  await by(page, 'tool-card', '[data-tool="write_file"]').waitFor()
  await by(page, 'artifact', '[data-kind="table"]').waitFor()
  await by(page, 'artifact', '[data-kind="chart"]').locator('canvas').waitFor()
  // Two workers finished, each in its own session, and their results are the result of the call.
  await expect.poll(() => by(page, 'worker-card', '[data-status="complete"]').count(), POLL).toBe(2)
  await by(page, 'tab-workers').click()
  await by(page, 'worker-row').getByText('Count the lines of tour/notes.md').click()
  await page.getByText('`tour/notes.md` has 5 lines.').first().waitFor()
  await page.goBack()
  await by(page, 'tab-chat').click()
  await by(page, 'question-card', '[data-state="open"]').waitFor()
  // It has visited a page of this service in the session's browser.
  await by(page, 'tool-card', '[data-tool="browser_navigate"]').waitFor()
  const toured = await readLog(server.client, id)
  expect(toured.filter(({ type }) => type === 'browser.provisioned')).toHaveLength(1)
  const visited = toured.filter(isType('tool.result')).find(({ data }) => data.name === 'browser_navigate')
  expect(visited?.data.content).toContain(`${server.url}/login`)
  expect(visited?.data.content).toMatch(/heading|textbox|button/)
  await expect.poll(() => by(page, 'inbox-count').textContent(), POLL).toBe('1')
  await by(page, 'question-choice').first().click()
  await by(page, 'question-submit').click()
  await by(page, 'question-card', '[data-state="answered"]').waitFor()

  const approval = by(page, 'approval-card', '[data-state="open"]')
  await approval.waitFor()
  await by(page, 'answer', '[data-final]').last().waitFor()
  await expect.poll(() => by(page, 'inbox-count').textContent(), POLL).toBe('1')
  await by(page, 'recent-session').getByLabel('Needs approval').waitFor()
  await takePictures(page, 'chat')
  await approval.locator('[data-testid="approve"]').click()
  await by(page, 'approval-card', '[data-state="approve"]').waitFor()
  await page.getByText('It ran, and printed').waitFor()

  // The tour continues by itself with a small mission of two rounds, and ends with a loop that is approved.
  const missionOf = async () => (await server.client.call('listMissions', { query: {} })).missions[0]
  await expect.poll(async () => (await missionOf())?.status, POLL).toBe('satisfied')
  expect(await missionOf()).toMatchObject({ session_id: id, iteration: 2 })
  await expect.poll(() => approval.count(), POLL).toBe(1)
  await approval.locator('[data-testid="approve"]').click()
  await page.getByText('The schedule is set up: the first run starts').waitFor()
  const { schedules } = await server.client.call('listSchedules', { query: {} })
  expect(schedules).toMatchObject([{ session_id: id, every_s: 60, max_runs: 2, status: 'active' }])
  // Its runs would interfere with the steps that follow.
  await server.client.call('cancelSchedule', { params: { schedule_id: schedules[0]?.id ?? '' } })
  await by(page, 'inbox-count').waitFor({ state: 'detached' })
  await waitFor(
    server.client,
    id,
    (await readLog(server.client, id)).findLast(isType('user.message'))!.id,
    endsTurn,
  )

  // It reached the service and cannot reach any other port of this machine.
  const outside = await runTurn(server.client, id, 'look at http://127.0.0.1:9/')
  const refused = outside.filter(isType('tool.result')).map(({ data }) => data.content)
  expect(refused).toEqual([expect.stringContaining('address 127.0.0.1 is not public')])

  const grown = () => page.evaluate<number>('grown')
  // A page that renders only a few times a second needs longer answers than those of the tour.
  for (let more = 0; more < 10 && (await grown()) <= 3; more++) await runTurn(server.client, id, 'help')
  expect(await grown(), 'the answers grew while they came').toBeGreaterThan(3)

  await by(page, 'nav-inbox').click()
  await showTab(page, 'decided')
  await itemRow(page, {}).nth(1).waitFor()
  await showTab(page, 'needs')
  await page.getByText('Nothing needs you').waitFor()
  await page.goBack()

  // EVENTS: the grid shows every event once and in order.
  await by(page, 'tab-events').click()
  await by(page, 'event-grid').waitFor()
  await by(page, 'show-deltas').click()
  await page.evaluate(REMEMBER_ROWS)
  const live = await runTurn(server.client, id, 'think hard about it')
  const lastId = live.at(-1)!.id
  await page.locator(`[data-event-id="${lastId}"]`).waitFor()
  const ids = live.map(({ id }) => id)
  await expect
    .poll(async () => {
      const drawn = (await page.evaluate<number[]>('[...drawn]'))
        .filter(id => id >= ids[0]! && id <= lastId)
        .toSorted((a, b) => a - b)
      // On a busy machine more events than fit may arrive between two frames. They are drawn when a person
      // scrolls to them.
      if (drawn.length < ids.length) {
        await by(page, 'event-grid').hover()
        await page.mouse.wheel(0, -200)
      }
      return drawn
    }, POLL)
    .toEqual(ids)
  await untilCounted(page, server.client, id)
  const log = await readLog(server.client, id)

  // A filter's count equals the number of rows that it shows.
  await by(page, 'family-tools').click()
  const tools = log.filter(({ type }) => /^(tool|artifact)\./.test(type)).length
  await expect
    .poll(() => by(page, 'events-status').textContent(), POLL)
    .toContain(`${tools} of ${log.filter(({ type }) => type !== 'llm.delta').length} events`)
  expect(await page.locator('[data-event-id]:not([data-family="tools"])').count()).toBe(0)
  await by(page, 'filter-clear').click()
  await by(page, 'filter-text').fill('tour/notes.md')
  await expect
    .poll(async () => (await by(page, 'events-status').textContent()) ?? '', POLL)
    .toMatch(/^\d+ of/)
  await by(page, 'filter-clear').click()

  // A jump opens the event and puts it in the URL, and the URL opens it again.
  const denied = log.find(isType('policy.denied'))!
  await by(page, 'event-jump').fill(String(denied.id))
  await by(page, 'event-jump').press('Enter')
  await by(page, 'event-detail').getByText('policy.denied').first().waitFor()
  await by(page, 'event-detail').locator('[data-testid="json-tree"]').getByText('timestamp').waitFor()
  await page.waitForURL(`**/events?id=${denied.id}`)
  await page.reload()
  await by(page, 'event-detail').getByText('policy.denied').first().waitFor()
  // On a phone the detail covers the list.
  await takePictures(page, 'events', async () => {
    await by(page, 'close-detail').click()
    await by(page, 'event-detail').waitFor({ state: 'detached' })
    await page.locator('[data-event-id]').first().waitFor()
  })
  expect(troubles).toEqual([])
})
