/**
 * The original content of a web_fetch call: from the log, and from the saved file if it was too long for the
 * log.
 */
import type { LogStore } from '@cairn/log'
import { decodeEvent, type EventOf, typesWith } from '@cairn/protocol'
import { parseResult } from '@cairn/state'
import { locate, PathProblem, readText } from '@cairn/workspace'

export type FetchedPage = { call_id: string; url: string; title: string; text: string; fetched_at: string }

const FETCH_TOOL = 'web_fetch'
const PAGE = 50
/** Includes calls and their results. */
const READ = typesWith('reported')

/**
 * `named`: the id of the call, or its requested or final address; the last match counts. Otherwise the reason
 * why there is nothing to cite.
 */
export async function findFetched(
  store: Pick<LogStore, 'events'>,
  sessionId: string,
  workspace: string,
  named: string,
): Promise<FetchedPage | { problem: string }> {
  const asked = new Map<string, unknown>()
  let found: EventOf<'tool.result'> | null = null
  for (let after = 0; ;) {
    const page = await store.events.read(sessionId, after, PAGE, READ)
    for (const { json } of page) {
      const event = decodeEvent(json)
      if (event.type === 'tool.call' && event.data.name === FETCH_TOOL)
        asked.set(event.data.tool_call_id, event.data.arguments['url'])
      if (event.type !== 'tool.result' || !asked.has(event.data.tool_call_id)) continue
      const { tool_call_id, content } = event.data
      const isMeant = named === tool_call_id || named === asked.get(tool_call_id)
      if (isMeant || parseResult(content)['url'] === named) found = event
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) break
    after = last.id
  }
  return found === null
    ? { problem: `no ${FETCH_TOOL} call of this session has the id or URL ${JSON.stringify(named)}` }
    : readPage(workspace, found)
}

async function readPage(
  workspace: string,
  { data, created_at: fetched_at }: EventOf<'tool.result'>,
): Promise<FetchedPage | { problem: string }> {
  const { tool_call_id: call_id, content, full_result_path: saved } = data
  const { url, status, title, text, error } = parseResult(content)
  if (typeof error === 'string') return { problem: `that call failed: ${error}` }
  if (typeof url !== 'string' || typeof text !== 'string')
    return { problem: 'the result of that call contains no page' }
  if (typeof status === 'number' && status >= 400)
    return { problem: `${url} returned status ${status} and cannot be cited` }
  return {
    call_id,
    url,
    title: typeof title === 'string' ? title : '',
    // Both: if the file is missing, the text in the log remains.
    text: saved === undefined ? text : `${text}\n${await readSaved(workspace, saved)}`,
    fetched_at,
  }
}

async function readSaved(workspace: string, path: string): Promise<string> {
  try {
    await using found = await locate(workspace, path, 'read')
    const saved = await readText(found)
    const { text } = parseResult(saved)
    return typeof text === 'string' ? text : saved
  } catch (error) {
    if (!(error instanceof PathProblem)) throw error
    return ''
  }
}
