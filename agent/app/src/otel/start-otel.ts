/** Starts the export to OpenTelemetry, if the configuration has a collector. */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { LogStore } from '@cairn/log'
import { VERSION } from '@cairn/tooling/version'
import { ConfigError } from '../config/config-error.ts'
import type { ServiceOptions } from '../serve/service-options.ts'
import { openCursor } from './cursor.ts'
import { startExporter } from './exporter.ts'
import { sendBatch } from './send.ts'

type Report = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void

const TIMEOUT_MS = 10_000

export function startOtel(
  { config: { otel }, env, dataDir }: Pick<ServiceOptions, 'config' | 'env' | 'dataDir'>,
  store: LogStore,
  orgId: string,
  report: Report,
  parts: AsyncDisposableStack,
): void {
  if (otel === undefined) return
  const { endpoint, headers_env, content, users, interval_s } = otel
  const url = endpoint.endsWith('/v1/traces') ? endpoint : `${endpoint.replace(/\/$/, '')}/v1/traces`
  const collector = { url, headers: headersFrom(headers_env, env), timeoutMs: TIMEOUT_MS }
  const exporter = startExporter({
    store,
    org_id: orgId,
    cursor: openCursor(join(dataDir, 'otel-cursor.jsonl'), Date.now()),
    options: { content, users },
    version: VERSION,
    send: (body, stop) => sendBatch(collector, body, stop),
    report,
    now: Date.now,
    random: Math.random,
    sleep: async (ms, stop) => {
      await delay(ms, undefined, { signal: stop, ref: false }).catch((error: unknown) => {
        if (!stop.aborted) throw error
      })
    },
    intervalMs: interval_s * 1000,
  })
  parts.defer(() => exporter.stop())
  report('info', 'sending spans to OpenTelemetry', { endpoint: url, content })
}

/** `name=value,name=value`, with encoded values, as OTEL_EXPORTER_OTLP_HEADERS has it. */
function headersFrom(
  variable: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  if (variable === undefined) return {}
  const given = env[variable]
  if (given === undefined || given === '')
    throw new ConfigError('otel.headers_env', [`the environment variable ${variable} is not set`])
  return Object.fromEntries(
    given.split(',').map(pair => {
      const at = pair.indexOf('=')
      if (at < 1)
        throw new ConfigError('otel.headers_env', [`${variable} must have the form name=value,name=value`])
      return [pair.slice(0, at).trim().toLowerCase(), decodeURIComponent(pair.slice(at + 1).trim())]
    }),
  )
}
