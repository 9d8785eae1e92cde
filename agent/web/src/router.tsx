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
  retainSearchParams,
  type ErrorComponentProps,
} from '@tanstack/react-router'
import { isUnauthenticated, describeError } from './api.ts'
import { setLiveUser } from './live/live.ts'
import { noteIn, wasIn } from './login/was-in.ts'
import { meQuery } from './queries.ts'
import { isSection, type Section } from './rail/sections.ts'
import { FILTER_KEYS, readFilters } from './session-filters.ts'
import { AlertIcon, CairnMark } from './ui/icons.tsx'
import { errorsWords } from './words/errors.ts'
import { generalWords } from './words/general.ts'
import { sessionsWords } from './words/sessions.ts'

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
  component: lazyRouteComponent(() => import('./shell/app-shell.tsx'), 'AppShell'),
  // The filters of the list stay in the address on every page.
  validateSearch: readFilters,
  search: { middlewares: [retainSearchParams([...FILTER_KEYS])] },
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
  beforeLoad: () => {
    throw redirect({ to: '/sessions' })
  },
})
const sessions = createRoute({ getParentRoute: () => shell, path: '/sessions', component: NoSession })
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
const workers = createRoute({ getParentRoute: () => session, path: '/workers' })
const browser = createRoute({ getParentRoute: () => session, path: '/browser' })
const inbox = createRoute({
  getParentRoute: () => shell,
  path: '/inbox',
  component: lazyRouteComponent(() => import('./inbox/inbox-page.tsx'), 'InboxPage'),
})
const notices = createRoute({
  getParentRoute: () => shell,
  path: '/notices',
  component: lazyRouteComponent(() => import('./notifications/notifications-page.tsx'), 'NotificationsPage'),
})
const missions = createRoute({
  getParentRoute: () => shell,
  path: '/missions',
  component: lazyRouteComponent(() => import('./missions/missions-page.tsx'), 'MissionsPage'),
})
const mission = createRoute({
  getParentRoute: () => shell,
  path: '/missions/$missionId',
  component: lazyRouteComponent(() => import('./missions/mission-page.tsx'), 'MissionPage'),
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
const adminUsers = createRoute({
  getParentRoute: () => admin,
  path: '/users',
  component: lazyRouteComponent(() => import('./admin/users-page.tsx'), 'UsersPage'),
})
const adminAccounts = createRoute({
  getParentRoute: () => admin,
  path: '/accounts',
  component: lazyRouteComponent(() => import('./admin/accounts-page.tsx'), 'AccountsPage'),
})
const adminChannels = createRoute({
  getParentRoute: () => admin,
  path: '/channels',
  component: lazyRouteComponent(() => import('./channels/channels-page.tsx'), 'ChannelsPage'),
})
const adminUsage = createRoute({
  getParentRoute: () => admin,
  path: '/usage',
  component: lazyRouteComponent(() => import('./admin/usage-page.tsx'), 'UsagePage'),
})
const adminHealth = createRoute({
  getParentRoute: () => admin,
  path: '/health',
  component: lazyRouteComponent(() => import('./admin/health-page.tsx'), 'HealthPage'),
})

const tree = root.addChildren([
  login,
  shared,
  shell.addChildren([
    home,
    sessions,
    session.addChildren([chat, workers, browser, events]),
    inbox,
    notices,
    missions,
    mission,
    schedules,
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
    <div className="empty" role="alert">
      <AlertIcon />
      <h1>{errorsWords.pageFailed}</h1>
      <p>{describeError(error)}</p>
      <button type="button" className="button" onClick={reset}>
        {generalWords.retry}
      </button>
    </div>
  )
}

/** Shown beside the list while no session is selected. */
function NoSession() {
  return (
    <div className="empty no-session">
      <CairnMark />
      <h2>{sessionsWords.welcome}</h2>
      <p>{sessionsWords.welcomeText}</p>
    </div>
  )
}
