/**
 * Socket Mode: events arrive over a socket that we open. An envelope is acknowledged once its rows are
 * stored.
 */
import { SocketModeClient } from '@slack/socket-mode'
import { WebAPIPlatformError } from '@slack/web-api'
import { ConsumeFailed, type Consuming, type Inbound } from '../adapter.ts'
import { type ClientOptions, SILENT } from './client.ts'

/** Slack closes the socket every few hours; a new one is opened at once. */
type Closed = 'closed'
const REFUSED = new Set([
  'not_authed',
  'invalid_auth',
  'account_inactive',
  'token_revoked',
  'not_allowed_token_type',
])
/** A socket without traffic for this long is dead. */
const SILENT_MS = 30_000

type Envelope = { ack: () => Promise<void>; body: unknown }

export async function consumeSocket(
  appToken: string,
  { apiUrl }: ClientOptions,
  { signal, sink, live }: Consuming,
  parse: (payload: unknown) => Inbound[],
): Promise<void> {
  while (!signal.aborted) await runOnce()

  async function runOnce(): Promise<void> {
    const client = new SocketModeClient({
      appToken,
      logger: SILENT,
      autoReconnectEnabled: false,
      serverPingTimeout: SILENT_MS,
      clientOptions: { slackApiUrl: apiUrl, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true },
    })
    const ended = Promise.withResolvers<Closed>()
    // It may reject before it is awaited; the error is reported then.
    ended.promise.catch(() => undefined)
    client.on('disconnected', () => ended.resolve('closed'))
    let taking = Promise.resolve()
    client.on('slack_event', (envelope: Envelope) => {
      // One after the other. A failed envelope and those after it are not acknowledged, so Slack sends them
      // again.
      taking = taking.then(() => take(envelope))
      taking.catch((error: unknown) => ended.reject(error))
    })
    const stop = (): void => ended.resolve('closed')
    signal.addEventListener('abort', stop, { once: true })
    try {
      await client.start()
      await live()
      await ended.promise
    } catch (error) {
      throw asConsumeFailure(error)
    } finally {
      signal.removeEventListener('abort', stop)
      await client.disconnect()
      client.removeAllListeners()
      // Its failure has been reported through `ended`.
      await taking.catch(() => undefined)
    }
  }

  async function take({ ack, body }: Envelope): Promise<void> {
    await sink(parse(body))
    await ack()
  }
}

function asConsumeFailure(thrown: unknown): ConsumeFailed {
  if (thrown instanceof WebAPIPlatformError) {
    const { error } = thrown.data
    return new ConsumeFailed(
      REFUSED.has(error) ? 'unauthorized' : 'lost',
      `Slack returned ${error} for the app token`,
    )
  }
  return new ConsumeFailed('lost', 'lost the Slack socket')
}
