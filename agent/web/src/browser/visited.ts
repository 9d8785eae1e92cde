/** The pages that a session's agent was on, from its log. Pure. */
import type { SessionEvent } from '@cairn/protocol'
import { listOf, readCall, textOf } from '../tools/tool-call.ts'

export type Visit = {
  url: string
  /** Null: the page has no title. */
  title: string | null
  /** The path of the agent's last screenshot of the page; null: it took none. */
  screenshot: string | null
  /** The call that led to the page. */
  eventId: number
  /** ISO 8601. */
  at: string
}

/** Where a result of @playwright/mcp names the page. */
const PAGE = /^- Page URL: (\S+)(?:\n- Page Title: (.*))?/m
const BROWSER = 'browser_'
const isPicture = (path: unknown): path is string => typeof path === 'string' && path.endsWith('.png')

/** In the order of the visits. Calls that stay on a page add nothing but its newest title and screenshot. */
export function visitsOf(events: readonly SessionEvent[]): Visit[] {
  const calls = new Map<string, SessionEvent>()
  const visits: Visit[] = []
  for (const event of events) {
    if (event.type === 'tool.call' && event.data.name.startsWith(BROWSER))
      calls.set(event.data.tool_call_id, event)
    if (event.type !== 'tool.result') continue
    const call = calls.get(event.data.tool_call_id)
    if (call === undefined) continue
    const { result } = readCall(event.data.name, {}, event.data.content)
    const [, url, title] = PAGE.exec(textOf(result, 'page') ?? '') ?? []
    if (url !== undefined && url !== 'about:blank' && url !== visits.at(-1)?.url)
      visits.push({ url, title: null, screenshot: null, eventId: call.id, at: call.created_at })
    const visit = visits.at(-1)
    if (visit === undefined) continue
    visit.title = title ?? visit.title
    visit.screenshot = listOf(result, 'files').findLast(isPicture) ?? visit.screenshot
  }
  return visits
}
