/** The entries of the palette: actions, the open session, pages, and sessions by name. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type Session, visibleText } from '@cairn/protocol'
import { SLASH_COMMANDS } from '@cairn/state'
import { client } from '../api.ts'
import { ADMIN_PAGES } from '../admin/admin-pages.ts'
import { writeInComposer } from '../dock/write-in-composer.ts'
import { focusTask, NEW_HASH, requestMission } from '../home/task-field.ts'
import { aboutQuery, meQuery, refreshSession, sessionQuery } from '../queries.ts'
import { SECTION_IDS } from '../rail/sections.ts'
import { readFilters } from '../session-filters.ts'
import { doToSession } from '../sessions/session-deeds.ts'
import { sessionMarksQuery } from '../sessions/session-marks-query.ts'
import { canPause, StateMark, stateWord } from '../sessions/session-state.tsx'
import { ArchiveIcon, ClockIcon, InboxIcon, MissionIcon, PlusIcon } from '../ui/icons.tsx'
import { FileIcon, PanelIcon, PlayIcon, SystemIcon, TerminalIcon } from '../ui/page-icons.tsx'
import { sayError } from '../ui/toasts.tsx'
import { nextTheme, themeName } from '../ui/theme.tsx'
import { NAV_ICONS } from './nav-icons.ts'
import { NAV_PAGES, pagesFor } from './nav-pages.ts'
import type { Entry } from './palette-fit.ts'
import { railWords } from '../words/rail.ts'
import { paletteWords } from '../words/palette.ts'
import { sessionWords } from '../words/session.ts'
import { sessionMenuWords } from '../words/session-menu.ts'
import { generalWords } from '../words/general.ts'
import { shellWords } from '../words/shell.ts'

/** What starts something or changes the frame. */
export function useActionEntries(onFold: () => void, onKeys: () => void): Entry[] {
  const navigate = useNavigate()
  const action = (id: string, label: string, run: () => unknown, more: Partial<Entry>): Entry => ({
    id,
    group: 'actions',
    label,
    run: () => void run(),
    ...more,
  })
  const write = () => (focusTask() ? undefined : navigate({ to: '/', hash: NEW_HASH }))
  const writeMission = () => {
    requestMission()
    return write()
  }
  return [
    action('new', paletteWords.newSession, write, { icon: <PlusIcon />, keys: [shellWords.newKey] }),
    action('mission', paletteWords.startMission, writeMission, { icon: <MissionIcon /> }),
    action('schedule', paletteWords.newSchedule, () => navigate({ to: '/schedules' }), {
      icon: <ClockIcon />,
    }),
    action('inbox', paletteWords.review, () => navigate({ to: '/inbox' }), { icon: <InboxIcon /> }),
    action('theme', paletteWords.theme(themeName()), nextTheme, { icon: <SystemIcon /> }),
    action('fold', paletteWords.fold, onFold, { icon: <PanelIcon />, keys: ['['] }),
    action('notices', paletteWords.notifications, () => navigate({ to: '/notices' }), {
      icon: <InboxIcon />,
    }),
    action('keys', paletteWords.keys, onKeys, { icon: <PanelIcon />, keys: ['?'] }),
  ]
}

export function usePageEntries(): Entry[] {
  const navigate = useNavigate()
  const { data: me } = useQuery(meQuery)
  const isAdmin = me?.admin === true
  const pages: Entry[] = pagesFor(isAdmin).map(({ to, label, key, icon }) => {
    const Icon = NAV_ICONS[icon]
    return {
      id: to,
      group: 'pages',
      label,
      icon: <Icon />,
      keys: ['G', key.toUpperCase()],
      run: () => void navigate({ to }),
    }
  })
  const named = new Set<string>(NAV_PAGES.map(({ to }) => to).filter(to => to !== '/admin/users'))
  const others: Entry[] = (isAdmin ? ADMIN_PAGES : [])
    .filter(({ to }) => !named.has(to))
    .map(({ to, label }) => ({
      id: `page ${to}`,
      group: 'pages',
      label,
      detail: paletteWords.details.admin,
      run: () => void navigate({ to }),
    }))
  const { data: marks } = useQuery(sessionMarksQuery)
  const views: Entry[] = (marks?.views ?? []).map(({ id, name, search }) => ({
    id: `view ${id}`,
    group: 'pages',
    label: paletteWords.view(visibleText(name)),
    run: () => void navigate({ to: '/sessions', search: readFilters(search) }),
  }))
  return [...pages, ...others, ...views]
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

/** The commands of a session. One with an argument is written into the composer up to there. */
const COMMANDS = [
  ...new Set(SLASH_COMMANDS.map(({ name, usage }) => `/${name}${usage.includes(' ') ? ' ' : ''}`)),
]

/** Actions on the open session; empty if none is open. */
export function useSessionEntries(): Entry[] {
  const { sessionId = '' } = useParams({ strict: false })
  const { data: session } = useQuery({ ...sessionQuery(sessionId), enabled: sessionId !== '' })
  const { data: about } = useQuery(aboutQuery)
  const navigate = useNavigate()
  const queries = useQueryClient()
  if (session === undefined) return []
  const params = { sessionId }
  const go = (id: string, label: string, run: () => unknown, more: Partial<Entry> = {}): Entry => ({
    id,
    group: 'session',
    label,
    run: () => void run(),
    ...more,
  })
  const deed = (id: string, label: string) =>
    go(id, label, () => doToSession(id, session, queries).catch(sayError), {
      icon: id === 'restore' ? <ArchiveIcon /> : <FileIcon />,
    })
  const act = (move: Move) =>
    client
      .call(MOVES[move], { params: { id: sessionId } })
      .then(({ id }) => refreshSession(queries, id))
      .catch(sayError)
  const skills = (about?.skills ?? []).map(({ name }) => `/${name} `)
  return [
    ...movesOf(session).map(move => go(move, MOVE_WORDS[move], () => act(move), { icon: <PlayIcon /> })),
    go('chat', sessionWords.tabs.chat, () => navigate({ to: '/sessions/$sessionId', params })),
    go('run', sessionWords.tabs.run, () => navigate({ to: '/sessions/$sessionId/run', params })),
    go('events', sessionWords.tabs.events, () => navigate({ to: '/sessions/$sessionId/events', params })),
    ...SECTION_IDS.map(rail =>
      go(rail, railWords.sections[rail], () =>
        navigate({ to: '/sessions/$sessionId', params, search: { rail } }),
      ),
    ),
    ...[...COMMANDS, ...skills].map(command =>
      go(
        command,
        paletteWords.command(command.trim()),
        async () => {
          await navigate({ to: '/sessions/$sessionId', params })
          writeInComposer(command)
        },
        { icon: <TerminalIcon /> },
      ),
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
    group: 'sessions',
    label: visibleText(session.title ?? generalWords.untitledSession),
    detail: `${session.agent}, ${stateWord(session)}`,
    icon: <StateMark session={session} />,
    run: () => void navigate({ to: '/sessions/$sessionId', params: { sessionId: session.id } }),
  }))
}
