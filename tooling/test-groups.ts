/**
 * The groups of the end-to-end tests (docs/testing.md). A file that reaches a browser helper by its imports
 * is a page test; those that take long and fail rarely are named here and run apart from `npm test`.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readImports, resolveRelative, root } from './workspace.ts'

/** A test that imports this file, directly or not, opens pages in Chromium. */
export const BROWSER_HELPER = 'agent/app/e2e/browser.ts'

/** Deaths, clocks, disks, networks and attackers: `npm run test:faults`. */
const FAULTS = [
  'sandbox-memory',
  'channels-burst',
  'channels-takeover',
  'compat-a2a-cuts',
  'compat-ag-ui-cuts',
  'compat-cuts',
  'compat-managed-agents-cuts',
  'compat-mcp-kill',
  'compat-openai-cuts',
  'crash',
  'disk-full',
  'hostile-network',
  'killed-service',
  'other-servers',
  'replicas',
  'security/damaged-store',
  'security/stepped-clock',
  'security/workspace-race',
  'shutdown',
  'stopped-clock',
].map(name => `agent/app/e2e/${name}.test.ts`)

/** Tests of packages that inject outages, damaged files, deaths at every write, floods, hostile messages. */
const FAULTS_OF_PACKAGES = [
  'agent/api/test/large-records.test.ts',
  'agent/api/test/security/login-flood.test.ts',
  'agent/api/test/security/stepped-clock.test.ts',
  'agent/api/test/slow-readers.test.ts',
  'agent/channels/test/proofs/burst.test.ts',
  'agent/channels/test/proofs/kills.test.ts',
  'agent/channels/test/proofs/leak-markers.test.ts',
  'agent/channels/test/security/parsers.test.ts',
  'agent/channels/test/security/platforms.test.ts',
  'agent/harness/test/coordination/kill-trees.test.ts',
  'agent/harness/test/security/model-servers.test.ts',
  'agent/harness/test/simulation/more-seeds.test.ts',
  'agent/harness/test/simulation/replay.test.ts',
  'agent/log/test/durability.test.ts',
  'agent/log/test/postgres-outage.test.ts',
  'agent/log/test/security/damage.test.ts',
  'agent/log/test/torn-wal.test.ts',
  'tune/train/test/experts-lost.test.ts',
  'tune/train/test/ranks-lost.test.ts',
]

/** Long walks through the whole page, and pages beside the chat: `npm run test:tours`. */
const TOURS = [
  'archive',
  'axe-tour',
  'channels-page',
  'code',
  'code-repos',
  'demo-tour',
  'examples-pages',
  'keyboard-tour',
  'layout-tour',
  'linked-accounts',
  'many-pages',
  'notifications-page',
  'page-findings',
  'page-frame',
  'pwa',
  'research-page',
  'schedules-page',
  'security/no-sandbox-tour',
  'server-crash-page',
  'session-state',
  'share-and-fork',
  'spoken-tour',
  'state-walks',
  'tasks-page',
  'website',
  'website-files',
].map(name => `agent/app/e2e/${name}.test.ts`)

/** The browser of a session. */
const TOURS_OF_PACKAGES = ['agent/harness/test/browser/browser.test.ts']

export type TestGroups = Record<'e2e' | 'pages' | 'faults' | 'tours', string[]>

/** Every end-to-end test file, in exactly one group. */
export function testGroups(folder: string = root): TestGroups {
  const files = globSync('{agent/app,tune/cli,tooling}/e2e/**/*.test.ts', { cwd: folder }).toSorted()
  const faults = [...FAULTS, ...FAULTS_OF_PACKAGES]
  const tours = [...TOURS, ...TOURS_OF_PACKAGES]
  const named = new Set([...faults, ...tours])
  const pages = files.filter(file => !named.has(file) && reachesBrowser(file, folder))
  const known = new Set([...named, ...pages])
  return { e2e: files.filter(file => !known.has(file)), pages, faults, tours }
}

/** Follows relative imports; those of types alone load nothing. */
function reachesBrowser(file: string, folder: string, visited: Set<string> = new Set()): boolean {
  if (file === BROWSER_HELPER) return true
  if (visited.has(file) || !file.includes('/e2e/')) return false
  visited.add(file)
  return readImports({ path: file, text: readFileSync(join(folder, file), 'utf8') })
    .filter(({ specifier, isType }) => specifier.startsWith('.') && !isType)
    .some(({ specifier }) => reachesBrowser(resolveRelative(file, specifier), folder, visited))
}
