import { expect, test } from 'vitest'
import type { SessionEvent } from '@cairn/protocol'
import { visitsOf } from './visited.ts'

const AT = '2026-11-29T10:00:00.000Z'
let lastId = 0
const event = (type: string, data: object) =>
  ({ id: ++lastId, type, data, created_at: AT }) as unknown as SessionEvent
const step = (name: string, result: object): SessionEvent[] => {
  const tool_call_id = `call-${lastId}`
  return [
    event('tool.call', { tool_call_id, name, arguments: {} }),
    event('tool.result', { tool_call_id, name, content: JSON.stringify(result) }),
  ]
}
const page = (url: string, title?: string): { page: string } => ({
  page: `### Page\n- Page URL: ${url}${title === undefined ? '' : `\n- Page Title: ${title}`}\n### Snapshot\n- text`,
})

test('lists each page that the agent was on, in order, with the call that led to it', () => {
  const events = [
    ...step('browser_navigate', page('about:blank')),
    ...step('browser_navigate', page('https://shop.test/', 'Shop')),
    ...step('browser_click', page('https://shop.test/', 'Shop, 1 item')),
    ...step('browser_click', page('https://shop.test/basket')),
    ...step('browser_take_screenshot', { page: '### Result', files: ['screenshots/1.png'] }),
    ...step('browser_take_screenshot', { page: '### Result', files: ['screenshots/2.png'] }),
    ...step('browser_navigate_back', page('https://shop.test/', 'Shop')),
    ...step('browser_navigate', { error: 'timed out' }),
    // Another tool, whose result reads like that of a browser.
    ...step('read_file', page('https://elsewhere.test/')),
  ]
  const visits = visitsOf(events)
  expect(visits.map(({ url, title, screenshot }) => [url, title, screenshot])).toEqual([
    ['https://shop.test/', 'Shop, 1 item', null],
    ['https://shop.test/basket', null, 'screenshots/2.png'],
    ['https://shop.test/', 'Shop', null],
  ])
  const first = events.find(({ id }) => id === visits[0]?.eventId)
  expect(first).toMatchObject({ type: 'tool.call', data: { name: 'browser_navigate' } })
  expect(visits[0]?.at).toBe(AT)
})
