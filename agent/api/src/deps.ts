/** Dependencies of the service, and what its parts share. */
import type { LogStore } from '@cairn/log'
import type { AnswerOf, Config } from '@cairn/protocol'
import type { ConnectionDeps, NotificationDeps } from '@cairn/sessions'
import type { Registry } from 'prom-client'
import type { Authenticator } from './auth/authenticate.ts'
import type { StandingWatch } from './auth/standing.ts'
import type { SigningKey } from './auth/signing-key.ts'
import type { HashQueue } from './auth/hash-queue.ts'
import type { LoginThrottle } from './auth/login-throttle.ts'
import type { ClientAddress } from './client-address.ts'
import type { Logger } from './logger.ts'
import type { Tuning } from './tuning.ts'
import type { Readiness } from './site/readiness.ts'
import type { HarnessStats, Metrics } from './site/metrics.ts'
import type { LiveBrowsers } from './live-browsers.ts'
import type { McpAccounts } from './mcp-accounts.ts'
import type { LiveTickets } from './live-tickets.ts'
import type { Settings } from './settings.ts'
import type { SessionGuard } from './session-guard.ts'
import type { SpanFolds } from './span-folds.ts'
import type { SessionChanges } from './sse/session-changes.ts'
import type { Streams } from './sse/streams.ts'
import type { Mount } from './http/mounts.ts'

export type ApiDeps = {
  store: LogStore
  config: Config
  dataDir: string
  /** Holds one folder per session, named by its id. */
  workspacesDir: string
  /** Epoch milliseconds, for dates: the clock may be set at any moment. */
  now: () => number
  /** Monotonic milliseconds, for limits and timeouts; the default is performance.now(). */
  monotonic?: () => number
  newId: () => string
  log: Logger
  version: string
  /** The scripted demo model answers, and the UI shows that. */
  demo: boolean
  /** The sandbox of commands, as the API reports it; absent if they run on runners elsewhere. */
  sandbox?: AnswerOf<'about'>['sandbox']
  /** The skills that a message may call; absent if the service has none. */
  skills?: () => Promise<AnswerOf<'about'>['skills']>
  /** The browsers of the runner in this process; null until it runs. */
  browsers?: () => LiveBrowsers | null
  /** A runner without an API: probes and metrics only. */
  probesOnly?: boolean
  /** Encryption and URL checks for channel connections; absent if this process cannot create any. */
  connections?: Pick<ConnectionDeps, 'sealing'> & {
    /** `agents`: those of the organisation. */
    urlProblem: (url: string, agent: string | undefined, agents: Config['agents']) => string | null
  }
  /** Encryption and URL checks for notification settings; absent if this process does not offer them. */
  notices?: Pick<NotificationDeps, 'sealing' | 'urlProblem'>
  /** Accounts at MCP servers; absent: no server of the configuration has `auth`. */
  mcp?: McpAccounts
  /** The settings that administrators change while the service runs; absent: this process has none. */
  settings?: Settings
  /** Handlers of other packages under their own path prefixes. */
  mounts?: readonly Mount[]
  /** Folder of the built web UI. */
  webRoot?: string
  metrics?: Registry
  harnessStats?: () => HarnessStats
  /** Intervals of connections and streams, which tests shorten. */
  tuning?: Partial<Tuning>
}

/** What handlers may use. */
export type Services = Omit<ApiDeps, 'metrics' | 'tuning'> & {
  key: SigningKey
  authenticator: Authenticator
  throttle: LoginThrottle
  hashQueue: HashQueue
  clientAddress: ClientAddress
  guard: SessionGuard
  spans: SpanFolds
  streams: Streams
  sessionChanges: SessionChanges
  liveTickets: LiveTickets
  standing: StandingWatch
  metrics: Metrics
  isReady: Readiness
}
