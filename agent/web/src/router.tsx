/**
 * The routes and their guards: every page except login and shared links redirects to the login without a
 * login session.
 */
import type { QueryClient } from '@tanstack/react-query'
import {
  Outlet,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type ErrorComponentProps,
} from '@tanstack/react-router'
import { isUnauthenticated, describeError } from './api.ts'
import { setLiveUser } from './live/live.ts'
import { noteIn, wasIn } from './login/was-in.ts'
import { meQuery } from './queries.ts'
import { isSection, type Section } from './rail/sections.ts'
import type { RunSearch } from './run/run-search.ts'
import type { Filters } from './session-filters.ts'
import { Empty } from './ui/empty.tsx'
import { AlertIcon } from './ui/icons.tsx'
import { errorsWords } from './words/errors.ts'
import { generalWords } from './words/general.ts'

type Context = { queries: QueryClient }

const root = createRootRouteWithContext<Context>()({
  component: Outlet,
  notFoundComponent: lazyRouteComponent(() => import('./shell/not-found-page.tsx'), 'NotFoundPage'),
  errorComponent: ErrorPage,
})

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: lazyRouteComponent(() => import('./login/login-page.tsx'), 'LoginPage'),
  // Only a path of this site, so that a link cannot redirect a person elsewhere after the login.
  validateSearch: (search): { next?: string; ended?: true } => ({
    ...(typeof search['next'] === 'string' &&
      /^\/(?![/\\])/.test(search['next']) && { next: search['next'] }),
    ...(search['ended'] === true && { ended: true }),
  }),
})

const shared = createRoute({
  getParentRoute: () => root,
  path: '/shared',
  component: lazyRouteComponent(() => import('./shared/shared-page.tsx'), 'SharedPage'),
})

const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: lazyRouteComponent(() => import('./shell/lazy.ts'), 'AppShell'),
  beforeLoad: async ({ context, location }) => {
    try {
      setLiveUser((await context.queries.ensureQueryData(meQuery)).id)
      noteIn(true)
    } catch (error) {
      if (!isUnauthenticated(error)) throw error
      throw redirect({ to: '/login', search: { next: location.href, ...(wasIn() && { ended: true }) } })
    }
  },
})

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  component: lazyRouteComponent(() => import('./home/lazy.ts'), 'HomePage'),
})
const sessions = createRoute({
  getParentRoute: () => shell,
  path: '/sessions',
  // Unchecked: the page reads its filters (use-filters.ts) with code that no other page needs.
  validateSearch: search => search as Filters,
  component: lazyRouteComponent(() => import('./sessions/lazy.ts'), 'SessionsPage'),
})
const session = createRoute({
  getParentRoute: () => shell,
  path: '/sessions/$sessionId',
  component: lazyRouteComponent(() => import('./session/session-page.tsx'), 'SessionPage'),
})
const chat = createRoute({
  getParentRoute: () => session,
  path: '/',
  /** `rail` names the section of the rail that is open. */
  validateSearch: (search): { rail?: Section } => (isSection(search['rail']) ? { rail: search['rail'] } : {}),
})
const events = createRoute({
  getParentRoute: () => session,
  path: '/events',
  /** `id` names the event that is open. */
  validateSearch: (search): { id?: number } => {
    const id = Number(search['id'])
    return Number.isInteger(id) && id > 0 ? { id } : {}
  },
})
const run = createRoute({
  getParentRoute: () => session,
  path: '/run',
  /** The view itself reads these keys (run/run-search.ts), so that they are not part of the first load. */
  validateSearch: (search): RunSearch => search,
})
const workers = createRoute({ getParentRoute: () => session, path: '/workers' })
const browser = createRoute({ getParentRoute: () => session, path: '/browser' })
const inbox = createRoute({
  getParentRoute: () => shell,
  path: '/inbox',
  /** The page reads it (inbox/triage.ts). */
  validateSearch: (search): { tab?: unknown; kind?: unknown; from?: unknown; item?: unknown } => search,
  component: lazyRouteComponent(() => import('./inbox/inbox-page.tsx'), 'InboxPage'),
})
const notices = createRoute({
  getParentRoute: () => shell,
  path: '/notices',
  component: lazyRouteComponent(() => import('./notifications/notifications-page.tsx'), 'NotificationsPage'),
})
const missionPages = () => import('./missions/pages.ts')
const missions = createRoute({
  getParentRoute: () => shell,
  path: '/missions',
  component: lazyRouteComponent(missionPages, 'MissionsPage'),
})
const mission = createRoute({
  getParentRoute: () => shell,
  path: '/missions/$missionId',
  component: lazyRouteComponent(missionPages, 'MissionPage'),
})
const schedules = createRoute({
  getParentRoute: () => shell,
  path: '/schedules',
  component: lazyRouteComponent(() => import('./schedules/schedules-page.tsx'), 'SchedulesPage'),
})
const admin = createRoute({
  getParentRoute: () => shell,
  path: '/admin',
  component: lazyRouteComponent(() => import('./admin/admin-page.tsx'), 'AdminPage'),
})
const adminHome = createRoute({
  getParentRoute: () => admin,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/admin/users' })
  },
})
const adminTables = () => import('./admin-tables.ts')
const adminUsers = createRoute({
  getParentRoute: () => admin,
  path: '/users',
  component: lazyRouteComponent(adminTables, 'UsersPage'),
})
const adminAccounts = createRoute({
  getParentRoute: () => admin,
  path: '/accounts',
  component: lazyRouteComponent(adminTables, 'AccountsPage'),
})
const adminChannels = createRoute({
  getParentRoute: () => admin,
  path: '/channels',
  component: lazyRouteComponent(adminTables, 'ChannelsPage'),
})
const adminUsage = createRoute({
  getParentRoute: () => admin,
  path: '/usage',
  component: lazyRouteComponent(() => import('./admin/usage-page.tsx'), 'UsagePage'),
})
const adminHealth = createRoute({
  getParentRoute: () => admin,
  path: '/health',
  component: lazyRouteComponent(adminTables, 'HealthPage'),
})
const agents = createRoute({
  getParentRoute: () => shell,
  path: '/agents',
  component: lazyRouteComponent(() => import('./agents/agents-frame.tsx'), 'AgentsFrame'),
})
const agent = createRoute({ getParentRoute: () => agents, path: '/$' })

const tree = root.addChildren([
  login,
  shared,
  shell.addChildren([
    home,
    sessions,
    session.addChildren([chat, run, workers, browser, events]),
    inbox,
    notices,
    missions,
    mission,
    schedules,
    agents.addChildren([agent]),
    admin.addChildren([adminHome, adminUsers, adminAccounts, adminChannels, adminUsage, adminHealth]),
  ]),
])

export const makeRouter = (queries: QueryClient) =>
  createRouter({
    routeTree: tree,
    context: { queries },
    defaultErrorComponent: ErrorPage,
    defaultPreload: false,
    scrollRestoration: false,
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}

/** Shown when a page fails to load or render. */
function ErrorPage({ error, reset }: ErrorComponentProps) {
  return (
    <Empty level={1} isAlert icon={<AlertIcon />} title={errorsWords.pageFailed}>
      <p>{describeError(error)}</p>
      <button type="button" className="button" onClick={reset}>
        {generalWords.retry}
      </button>
    </Empty>
  )
}
