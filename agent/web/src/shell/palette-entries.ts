/** The entries of the palette: pages, actions on the open session, and sessions by name. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type Session, visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { ADMIN_PAGES } from '../admin/admin-pages.ts'
import { meQuery, refreshSession, sessionQuery } from '../queries.ts'
import { SECTIONS } from '../rail/sections.ts'
import { doToSession } from '../sessions/session-deeds.ts'
import { canPause, stateWord } from '../sessions/session-state.tsx'
import { sayError } from '../ui/toasts.tsx'
import type { Entry } from './palette-fit.ts'
import { shellWords } from '../words/shell.ts'
import { paletteWords } from '../words/palette.ts'
import { sessionWords } from '../words/session.ts'
import { sessionMenuWords } from '../words/session-menu.ts'
import { generalWords } from '../words/general.ts'

const PAGES = [
  { to: '/sessions', label: shellWords.sessions },
  { to: '/inbox', label: shellWords.inbox },
  { to: '/missions', label: shellWords.missions },
  { to: '/schedules', label: shellWords.schedules },
] as const

export function usePageEntries(): Entry[] {
  const navigate = useNavigate()
  const { data: me } = useQuery(meQuery)
  return [...PAGES, ...(me?.admin === true ? ADMIN_PAGES : [])].map(({ to, label }) => ({
    id: to,
    label,
    detail: to.startsWith('/admin') ? paletteWords.details.admin : paletteWords.details.page,
    run: () => void navigate({ to }),
  }))
}

const MOVES = {
  pause: 'pauseSession',
  stop: 'stopSession',
  resume: 'resumeSession',
  retry: 'retrySession',
} as const
const MOVE_WORDS = paletteWords.moves
type Move = keyof typeof MOVES

function movesOf(session: Session): Move[] {
  if (session.state === 'paused') return ['resume']
  const moves: Move[] = canPause(session) ? ['stop', 'pause'] : []
  return session.state === 'failed' ? ['retry', ...moves] : moves
}

/** Actions on the open session; empty if none is open. */
export function useSessionEntries(): Entry[] {
  const { sessionId = '' } = useParams({ strict: false })
  const { data: session } = useQuery({ ...sessionQuery(sessionId), enabled: sessionId !== '' })
  const navigate = useNavigate()
  const queries = useQueryClient()
  if (session === undefined) return []
  const params = { sessionId }
  const go = (id: string, label: string, run: () => unknown): Entry => ({
    id,
    label,
    detail: paletteWords.details.session,
    run: () => void run(),
  })
  const deed = (id: string, label: string) =>
    go(id, label, () => doToSession(id, session, queries).catch(sayError))
  return [
    ...movesOf(session).map(move =>
      go(move, MOVE_WORDS[move], () =>
        client
          .call(MOVES[move], { params: { id: sessionId } })
          .then(({ id }) => refreshSession(queries, id))
          .catch(sayError),
      ),
    ),
    go('chat', sessionWords.tabs.chat, () => navigate({ to: '/sessions/$sessionId', params })),
    go('events', sessionWords.tabs.events, () => navigate({ to: '/sessions/$sessionId/events', params })),
    ...SECTIONS.map(({ id: rail, name }) =>
      go(rail, name, () => navigate({ to: '/sessions/$sessionId', params, search: { rail } })),
    ),
    deed('markdown', sessionMenuWords.menu.markdown),
    deed('jsonl', sessionMenuWords.menu.jsonl),
    ...(session.status === 'archived' ? [deed('restore', sessionMenuWords.menu.restore)] : []),
  ]
}

const SHOWN = 8

/** Sessions whose title, agent or id contains the words; without words, the newest ones. */
export function useFoundSessions(typed: string): Entry[] {
  const navigate = useNavigate()
  const { data } = useQuery({
    queryKey: ['palette', typed],
    queryFn: ({ signal }) =>
      client.call('listSessions', {
        query: { parent_id: 'none', limit: SHOWN, ...(typed === '' ? {} : { text: typed }) },
        signal,
      }),
    placeholderData: before => before,
  })
  return (data?.sessions ?? []).map(session => ({
    id: session.id,
    label: visibleText(session.title ?? generalWords.untitledSession),
    detail: `${session.agent}, ${stateWord(session)}`,
    run: () => void navigate({ to: '/sessions/$sessionId', params: { sessionId: session.id } }),
  }))
}
