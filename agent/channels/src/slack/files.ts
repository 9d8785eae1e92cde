/** Files in both directions. https://docs.slack.dev/messaging/working-with-files */
import type { WebClient } from '@slack/web-api'
import { type FileRef, type OutgoingPart, type PartFile, SendFailed } from '../adapter.ts'
import { lostCall } from '../lost-call.ts'
import { readAtMost } from '../read-at-most.ts'
import { failureOf } from './failures.ts'
import { escapeText } from './text.ts'

const TRANSFER_MS = 60_000
/** Slack's file hosts; GovSlack has its own. */
const HOSTS = /^files\.slack(-gov)?\.com$/

/** Where a message or a file goes. */
export type Target = { channel: string; thread_ts?: string }
type Fetching = { botToken: string; apiUrl: string }

/** The token is sent to Slack's own hosts only, whatever URL an event contains. */
export async function fetchFile(
  { botToken, apiUrl }: Fetching,
  { ref, mime_type }: FileRef,
  mostBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const url = new URL(String(ref['url']))
  if (!HOSTS.test(url.hostname) && url.host !== new URL(apiUrl).host)
    throw new Error(`the file is at ${url.hostname}, which is not a Slack host`)
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${botToken}` },
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TRANSFER_MS)]),
  })
  // Without the scope, Slack returns its login page with status 200.
  if (
    response.ok &&
    (response.headers.get('content-type') ?? '').startsWith('text/html') &&
    mime_type !== 'text/html'
  )
    throw new Error('Slack returned a login page instead of the file: the app needs the scope files:read')
  return readAtMost(response, mostBytes)
}

/** Takes three calls; the result of the last one contains no message id. */
export async function uploadFile(
  client: WebClient,
  { text }: OutgoingPart,
  file: PartFile,
  { channel, thread_ts }: Target,
  signal: AbortSignal,
): Promise<void> {
  const { name, bytes } = file
  const asked = await call(client, 'files.getUploadURLExternal', { filename: name, length: bytes.length })
  const { upload_url, file_id } = asked as { upload_url: string; file_id: string }
  const taken = await fetch(upload_url, {
    method: 'POST',
    body: bytes as Uint8Array<ArrayBuffer>,
    signal: AbortSignal.any([signal, AbortSignal.timeout(TRANSFER_MS)]),
  }).catch((error: unknown) => Promise.reject(lostCall('Slack', error)))
  // The file is not visible before the last call, so a failure is transient.
  if (!taken.ok) throw new SendFailed('transient', `Slack returned ${taken.status} for a file`)
  await call(client, 'files.completeUploadExternal', {
    files: [{ id: file_id, title: name }],
    channel_id: channel,
    ...(thread_ts === undefined ? {} : { thread_ts }),
    initial_comment: escapeText(text),
  })
}

async function call(client: WebClient, method: string, body: Record<string, unknown>): Promise<object> {
  try {
    return await client.apiCall(method, body)
  } catch (error) {
    throw failureOf(error)
  }
}
