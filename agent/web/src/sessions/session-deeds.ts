/** Menu actions without a dialog. Separate from the menu, because the first page needs none of them. */
import type { QueryClient } from '@tanstack/react-query'
import type { Session, SessionEvent } from '@cairn/protocol'
import { emptySessionView, foldSessionView } from '@cairn/state'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import { saveFile } from '../ui/save-file.ts'
import { say } from '../ui/toasts.tsx'
import { chatMarkdown } from './chat-markdown.ts'
import { sessionMenuWords } from '../words/session-menu.ts'

const PAGE = 1000

/** Reads the whole log. */
async function readLog(id: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for (let more = true; more;) {
    const page = await client.call('pollEvents', {
      params: { id },
      query: { after: events.at(-1)?.id ?? 0, limit: PAGE },
    })
    events.push(...(page.events as SessionEvent[]))
    more = page.has_more
  }
  return events
}

const save = (path: string, content: string): void => saveFile({ path, encoding: 'utf-8', content })

/**
 * `restore` unarchives the session; `jsonl` and `markdown` save its log, as `cairn export` does or as text.
 */
export async function doToSession(deed: string, session: Session, queries: QueryClient): Promise<void> {
  const { id } = session
  if (deed === 'restore') {
    await client.call('restoreSession', { params: { id } })
    await refreshSession(queries, id)
    say(sessionMenuWords.restored)
    return
  }
  const events = await readLog(id)
  if (deed === 'jsonl') return save(`${id}.jsonl`, events.map(event => `${JSON.stringify(event)}\n`).join(''))
  save(`${id}.md`, chatMarkdown(session, foldSessionView(emptySessionView, events)))
}
