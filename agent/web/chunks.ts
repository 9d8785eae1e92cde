/**
 * Modules that the first pages load together. Every file is compressed on its own, so in thirty small ones
 * the first page would take 8 kB more (agent/app/e2e/first-load.test.ts).
 */
const PACKAGES = [
  'react',
  'react-dom',
  'scheduler',
  'use-sync-external-store',
  '@tanstack/history',
  '@tanstack/query-core',
  '@tanstack/react-query',
  '@tanstack/react-router',
  '@tanstack/react-store',
  '@tanstack/router-core',
  '@tanstack/store',
]

/**
 * Paths without their endings, from agent/. A module that is imported lazily (lazy.ts) is a file of its own:
 * in a group, rolldown loses its exports.
 */
const CHUNKS: Record<string, readonly string[]> = {
  /** Every page, the login too. */
  base: [
    'client/src/call',
    'client/src/credentials',
    'client/src/failure',
    'client/src/source',
    'client/src/unchecked',
    'protocol/src/enums/sessions',
    'protocol/src/errors/errors',
    'protocol/src/routes/route-table',
    'protocol/src/text/amounts',
    'protocol/src/text/visible-text',
    'web/src/api',
    'web/src/format',
    'web/src/live/hub-link',
    'web/src/live/live',
    'web/src/live/subscriptions',
    'web/src/login/link-token',
    'web/src/login/was-in',
    'web/src/queries',
    'web/src/rail/sections',
    'web/src/ui/icons',
    'web/src/ui/toasts',
    'web/src/words/errors',
    'web/src/words/general',
  ],
  /** Every page with the navigation. */
  frame: [
    'protocol/src/resources/waits-for',
    'protocol/src/tools/names',
    'state/src/tool-words',
    'web/src/home/task-field',
    'web/src/inbox/desktop-notifications',
    'web/src/inbox/tab-calls',
    'web/src/sessions/last-step',
    'web/src/sessions/session-state',
    'web/src/sessions/sessions-live',
    'web/src/shell/account-menu',
    'web/src/shell/app-shell',
    'web/src/shell/nav',
    'web/src/shell/nav-icons',
    'web/src/shell/nav-pages',
    'web/src/shell/recent',
    'web/src/shell/use-fold',
    'web/src/shell/use-keys',
    'web/src/ui/dialog-host',
    'web/src/ui/follow-while-visible',
    'web/src/ui/inbox-count',
    'web/src/ui/opener-button',
    'web/src/ui/status',
    'web/src/ui/strip',
    'web/src/ui/takes-keys',
    'web/src/ui/use-media-query',
    'web/src/ui/use-now',
    'web/src/ui/write-into',
    'web/src/words/sessions',
    'web/src/words/shell',
    'web/src/words/strip',
  ],
  home: [
    'web/src/home/greeting',
    'web/src/home/home-composer',
    'web/src/home/home-page',
    'web/src/home/home-query',
    'web/src/home/home-sections',
    'web/src/home/needs',
    'web/src/home/pickers',
    'web/src/home/section',
    'web/src/home/use-start',
    'web/src/words/home',
  ],
  sessions: [
    'web/src/session-filters',
    'web/src/sessions/days',
    'web/src/sessions/list-parts',
    'web/src/sessions/session-actions',
    'web/src/sessions/sessions-page',
    'web/src/sessions/sessions-query',
    'web/src/sessions/sessions-table',
    'web/src/sessions/use-filters',
    'web/src/ui/page',
    'web/src/words/sessions-page',
  ],
}

/** Hooks that only lists with several pages use. */
const INFINITE = /@tanstack\/.*\/(?:infiniteQueryObserver|useInfiniteQuery)\./

const vendor = {
  name: 'vendor',
  test: (id: string) =>
    !INFINITE.test(id) &&
    new RegExp(`/node_modules/(?:${PACKAGES.join('|')})/|preload-helper|rolldown/runtime`).test(id),
}
const infinite = { name: 'sessions', includeDependenciesRecursively: false, test: INFINITE }

/** The groups of rolldown's code splitting. */
export const chunkGroups = [
  vendor,
  infinite,
  ...Object.entries(CHUNKS).map(([name, paths]) => ({
    name,
    // A module that another page imports as well stays out, unless it is listed.
    includeDependenciesRecursively: false,
    test: new RegExp(`/agent/(?:${paths.join('|')})\\.tsx?$`),
  })),
]

export const isGroup = (name: string): boolean => chunkGroups.some(group => group.name === name)
