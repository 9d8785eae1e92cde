/** What the service is constructed with, and what its parts share. */
import type { LogStore } from '@cairn/log'
import type { AnswerOf, Config } from '@cairn/protocol'
import type { ConnectionDeps, NoticeDeps } from '@cairn/sessions'
import type { Registry } from 'prom-client'
import type { Authenticator } from './auth/authenticate.ts'
import type { StandingWatch } from './auth/standing.ts'
import type { SigningKey } from './auth/signing-key.ts'
import type { HashQueue } from './auth/hash-queue.ts'
import type { LoginThrottle } from './auth/login-throttle.ts'
import type { ClientAddress } from './client-address.ts'
import type { Readiness } from './site/readiness.ts'
import type { Metrics } from './site/metrics.ts'
import type { LiveBrowsers } from './live-browsers.ts'
import type { LiveTickets } from './live-tickets.ts'
import type { SessionGuard } from './session-guard.ts'
import type { SessionChanges } from './sse/session-changes.ts'
import type { Streams } from './sse/streams.ts'
import type { Mount } from './http/mounts.ts'

export type Logger = Record<
  'info' | 'warn' | 'error',
  (message: string, fields?: Record<string, unknown>) => void
>
/** Of the worker in this process, at this moment; `proxy_` since its start. */
export type HarnessStats = {
  active_turns: number
  code_runs: number
  browsers: number
  proxy_connections: number
  proxy_refusals: number
}

export type ApiDeps = {
  store: LogStore
  config: Config
  /** Holds the signing key. */
  dataDir: string
  /** Holds a folder for each session, of its id. */
  workspacesDir: string
  /** Epoch milliseconds, for dates: somebody may set this clock at any moment. */
  now: () => number
  /** Milliseconds of a clock that nobody sets, for limits and waits; performance.now() unless a test says. */
  monotonic?: () => number
  newId: () => string
  log: Logger
  version: string
  /** The scripted demo model answers, and the UI says so. */
  demo: boolean
  /** What commands run in, for those who ask; absent: they run on workers elsewhere. */
  sandbox?: AnswerOf<'about'>['sandbox']
  /** The skills that a message may call; absent: there are none. */
  skills?: () => Promise<AnswerOf<'about'>['skills']>
  /** Those of the worker in this process; null until it runs. */
  browsers?: () => LiveBrowsers | null
  /** A worker without an API: probes and metrics only. */
  probesOnly?: boolean
  /** What connections to channels are made with; absent: nobody makes any here. */
  connections?: Pick<ConnectionDeps, 'sealing' | 'urlProblem'>
  /** What notices of people are sealed and judged with; absent: nobody chooses any here. */
  notices?: Pick<NoticeDeps, 'sealing' | 'urlProblem'>
  /** Paths of others on this server. */
  mounts?: readonly Mount[]
  /** Folder of the built web UI. */
  webRoot?: string
  metrics?: Registry
  harnessStats?: () => HarnessStats
  /** Intervals of connections and streams; tests shorten them. */
  tuning?: Partial<Tuning>
}

export type Tuning = {
  /** A stream without a byte for so long gets a comment. */
  heartbeatMs: number
  /** A reader that is over the limit of unsent bytes and took nothing for so long is cut off. */
  stallMs: number
  /** How often the streams are looked through for both. */
  tickMs: number
  /** So long the headers of a request may take, and the whole of it. */
  headersMs: number
  requestMs: number
  /** How often connections are looked through for both. */
  lookMs: number
  /** A connection whose answer is not taken ends after so long; a stream has rules of its own. */
  idleMs: number
  /** How often the credentials of open streams and live views are checked, for changes by other processes. */
  standingMs: number
  /** A live view is pinged so often, and ends when it has not answered the last ping. */
  pingMs: number
}
export const TUNING: Tuning = {
  heartbeatMs: 10_000,
  stallMs: 2_000,
  tickMs: 1_000,
  headersMs: 30_000,
  requestMs: 120_000,
  lookMs: 10_000,
  idleMs: 120_000,
  standingMs: 5_000,
  pingMs: 20_000,
}

/** The parts that handlers use. */
export type Services = Omit<ApiDeps, 'metrics' | 'tuning'> & {
  key: SigningKey
  authenticator: Authenticator
  throttle: LoginThrottle
  hashQueue: HashQueue
  clientAddress: ClientAddress
  guard: SessionGuard
  streams: Streams
  sessionChanges: SessionChanges
  liveTickets: LiveTickets
  standing: StandingWatch
  metrics: Metrics
  isReady: Readiness
}
