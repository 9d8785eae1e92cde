/**
 * The system clock can be set at any moment. Timeouts, limits and measurements use performance.now() or the
 * monotonic side of a Clock. The files below may read the date, each for the stated reason (decision 14).
 */
import { expect, test } from 'vitest'
import { listPackages, readSources } from './workspace.ts'

const DATES: Record<string, string> = {
  'agent/app/src/acp/local-place.ts': 'lines of the log carry a date',
  'agent/app/src/cli/serve.ts': 'lines of the log carry a date',
  'agent/app/src/cli/doctor.ts': 'the date of a token in an address for answers',
  'agent/app/src/cli/terminal-time.ts': 'a time of another year is shown with its year',
  'agent/app/src/cli/token.ts': 'a service account expires on a date',
  'agent/app/src/cli/login.ts': 'a login link ends on a date',
  'agent/web/src/inbox/item-pane.tsx': 'whether a snooze ends today, for a person',
  'agent/web/src/inbox/set-aside-buttons.tsx': 'a snooze begins when a person chooses it',
  'agent/web/src/shell/palette-requests.tsx': 'as in set-aside-buttons.tsx',
  'agent/web/src/sessions/search-view.tsx': 'as in sessions-query.ts',
  'agent/web/src/sessions/sessions-query.ts': 'a list of what changed in the last days begins at a date',
  'agent/app/src/local/local-admin.ts': 'a token expires on a date',
  'agent/app/src/main.ts': 'the dates of the service; a login link expires on one',
  'agent/app/src/bench/first-event.ts': 'the dates of the service it measures',
  'agent/app/src/bench/service.ts': 'the dates of the service it measures',
  'agent/app/src/bench/files.ts': 'the dates of the service it measures',
  'agent/app/src/bench/channels.ts': 'the dates of the messages it signs',
  'agent/app/src/serve/begin-channels.ts': 'the dates of the channels',
  'agent/app/src/serve/start-notifications.ts': 'the dates of the notices',
  'agent/app/src/otel/start-otel.ts': 'spans carry dates',
  'agent/channels/src/webhook/adapter.ts': 'a signature carries its date',
  'agent/client/src/source.ts': 'Retry-After may be a date',
  'agent/models/src/clock.ts': 'the side of the clock that gives dates',
  'agent/models/src/anthropic.ts': 'Retry-After may be a date',
  'agent/models/src/servers/learned-facts.ts': 'what was learned of a server is forgotten after days',
  'agent/models/src/openai.ts': 'Retry-After may be a date',
  'agent/log/src/postgres/database-clock.ts': 'compared with the monotonic clock, to notice that it jumped',
  'agent/log/src/sqlite/store.ts': 'events and rows carry dates',
  'agent/web/src/ui/time-of.tsx': 'whether something was today, for a person',
  'agent/web/src/ui/use-now.ts': 'how long ago something was, for a person',
}

const stripComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')
const readers = listPackages()
  .flatMap(readSources)
  .filter(
    ({ path, text, isTest }) =>
      !isTest && path.includes('/src/') && /\bDate\.now\b|\bnew Date\(\)/.test(stripComments(text)),
  )
  .map(({ path }) => path)

test('only listed files read the system date', () => {
  expect(readers.filter(path => !(path in DATES))).toEqual([])
})

test('every listed file reads the system date', () => {
  expect(Object.keys(DATES).filter(path => !readers.includes(path))).toEqual([])
})
