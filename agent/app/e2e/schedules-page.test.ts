/**
 * Schedules of a real server: invalid input is reported, `/loop` and the command line create and end
 * schedules, and the page previews the times while a person types, shows the runs, and stops them, in a real
 * Chromium.
 */
import { ApiError } from '@cairn/client'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, start, startService } from './server.ts'
import { endsTurn, isType, newSession, PATIENCE_MS, readLog, say, waitFor } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const POLL = { timeout: PATIENCE_MS }
const scenario = {
  pace_ms: 0,
  rules: [
    { when: { system: 'You name conversations' }, answer: { text: 'Watching the river' } },
    { when: { user: 'level of the river' }, answer: { text: 'The river stands at 3.2 m.' } },
    { answer: { text: 'Very well.' } },
  ],
}

/** Promise 4: An invalid schedule is rejected with an error that names the fix. */
test('the page previews, creates, runs, pauses and ends a schedule, and reports invalid input', async () => {
  const place = makePlace({ scenario })
  const server = await startService(place)
  const { client } = server
  const id = await newSession(client)
  await say(client, id, 'hello')
  await waitFor(client, id, 0, endsTurn)

  // Invalid inputs, each with the fix that the error names.
  const prompt = 'read the level of the river'
  const refused = async (wish: object): Promise<string> => {
    const failure = await client.call('createSchedule', { body: { session_id: id, prompt, ...wish } }).then(
      () => null,
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(ApiError)
    const { code, status, problem } = failure as ApiError
    expect([code, status]).toEqual(['invalid_schedule', 422])
    expect(problem.errors).toHaveLength(1)
    return String(problem.detail)
  }
  expect(await refused({ cron: '0 0 30 2 *' })).toContain('never occurs')
  expect(await refused({ cron: '61 * * * *' })).toContain('61')
  expect(await refused({ cron: '* * *' })).toContain('expected five')
  expect(await refused({ cron: '0 9 * * *', timezone: 'Mars/Olympus' })).toContain('such as Europe/Berlin')
  expect(await refused({ every_s: 59 })).toContain('must be at least 60 s')
  expect(await refused({ at: 'tomorrow' })).toContain('must have an offset')
  expect(await refused({ at: '2020-01-01T00:00:00Z' })).toContain('in the past')
  expect(await refused({})).toContain('send exactly one')
  expect(await refused({ every_s: 60, cron: '* * * * *' })).toContain('more than one')
  expect(await refused({ every_s: 60, timezone: 'UTC' })).toContain('applies to cron only')
  expect(await refused({ cron: '@yearly', expires_at: new Date(Date.now() + 1000).toISOString() })).toMatch(
    /the end .* is before the first run/,
  )
  const missing = client.call('getSchedule', { params: { schedule_id: 'none' } })
  await expect(missing).rejects.toMatchObject({ status: 404 })

  // In the chat.
  await say(client, id, '/loop 30m read the level of the river')
  await expect
    .poll(async () => (await client.call('listSchedules', { query: {} })).schedules.length, POLL)
    .toBe(1)
  await say(client, id, '/loop every 10s read it')
  const replied = async () =>
    (await readLog(client, id)).filter(
      event => event.type === 'llm.response' && event.data.finish_reason === 'command',
    )
  await expect.poll(async () => (await replied()).length, POLL).toBe(2)
  expect(JSON.stringify((await replied())[0])).toMatch(/runs every 30 min, first in \d\d min, and expires/)
  expect(JSON.stringify((await replied())[1])).toContain('must be at least 60 s')
  const [loop] = (await client.call('listSchedules', { query: {} })).schedules
  expect(loop).toMatchObject({ every_s: 1800, status: 'active', session_id: id })
  expect(Date.parse(loop?.expires_at ?? '') - Date.now()).toBeGreaterThan(6.9 * 86_400_000)
  await say(client, id, `/loop cancel ${loop?.id.slice(0, 8)}`)
  await expect
    .poll(
      async () => (await client.call('listSchedules', { query: {} })).schedules.map(({ status }) => status),
      POLL,
    )
    .toContain('cancelled')

  // On the command line.
  const command = async (...args: string[]): Promise<string> => {
    const { child } = start(place, ['schedules', ...args])
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await new Promise(resolve => child.once('close', resolve))
    return text
  }
  const made = JSON.parse(
    await command('add', id, prompt, '--cron', '0 9 * * 1-5', '--zone', 'Asia/Tokyo', '--json'),
  )
  expect(made).toMatchObject({ cron: '0 9 * * 1-5', timezone: 'Asia/Tokyo', status: 'active' })
  expect(await command('pause', made.id)).toContain('paused')
  expect(await command()).toContain(made.id)

  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await by(page, 'nav-schedules').click()
  await by(page, 'schedule', '[data-status="paused"]').waitFor()
  // The cancelled one is not current.
  expect(await by(page, 'schedule').count()).toBe(1)
  await by(page, 'schedules-ended').click()
  await by(page, 'schedule', '[data-status="cancelled"]').waitFor()
  await by(page, 'schedules-current').click()
  await by(page, 'new-schedule').click()
  await by(page, 'schedule-prompt').fill(prompt)
  await by(page, 'schedule-cron').fill('61 * * * *')
  await by(page, 'preview-problem').getByText('61').waitFor()
  await by(page, 'schedule-cron').fill('30 2 * * *')
  await by(page, 'schedule-zone').fill('Europe/Berlin')
  await expect.poll(() => by(page, 'preview').locator('li').count(), POLL).toBe(5)
  await expect.poll(() => by(page, 'preview').textContent(), POLL).toContain('02:30 Europe/Berlin')
  await takePictures(page, 'schedules-form')
  expect(await lookWithAxe(page, 'the form of schedules')).toEqual([])
  await by(page, 'create-schedule').click()
  const mine = by(page, 'schedule', '[data-status="active"]')
  await mine.waitFor()
  expect(await mine.getByTestId('next-times').textContent()).toMatch(/^in \d+ (min|h), .*\d\d:\d\d$/)
  const zone = await page.evaluate<string>('Intl.DateTimeFormat().resolvedOptions().timeZone')
  await page.getByRole('columnheader', { name: `Next run (${zone})` }).waitFor()
  await mine.getByTestId('runSchedule').click()
  await mine.getByTestId('show-runs').click()
  await mine.locator('[data-testid="schedule-run"][data-status="success"]').waitFor()
  expect(await mine.getByRole('list', { name: 'Next runs' }).locator('li').count()).toBe(5)
  await takePictures(page, 'schedules', () => page.locator('li[data-testid="schedule"]').first().waitFor())
  expect(await lookWithAxe(page, 'schedules')).toEqual([])
  await mine.getByTestId('pauseSchedule').click()
  const paused = page.locator('[data-testid="schedule"][data-status="paused"]')
  await expect.poll(() => paused.count(), POLL).toBe(2)
  await paused.first().getByTestId('resumeSchedule').click()
  await mine.waitFor()
  // On a phone it was a card, whose row is closed again.
  await mine.getByTestId('show-runs').click()
  await mine.getByTestId('cancelSchedule').click()
  await expect.poll(() => mine.count(), POLL).toBe(0)

  // Its result is delivered to the session once.
  const results = (await readLog(client, id)).filter(isType('loop.result'))
  expect(results.map(({ data }) => [data.outcome, data.content])).toEqual([
    ['success', 'The river stands at 3.2 m.'],
  ])
  await page.goto(`${server.url}/sessions/${id}`)
  await page.getByText('Scheduled run: The river stands at 3.2 m.').waitFor()
  expect(troubles.filter(trouble => !trouble.includes('422'))).toEqual([])
})
