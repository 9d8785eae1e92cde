/** Requests to the hub: the files of a revision, and each file's hash and size. */
import { z } from 'zod'
import { InputError } from './errors.ts'
import type { Repo } from './hub-cache.ts'

export type Hub = {
  endpoint: string
  token: string | undefined
  fetch: typeof fetch
  signal: AbortSignal | undefined
}
export type RemoteFile = { name: string; etag: string; bytes: number; url: string }

/** The hub was unreachable, or returned a server error. */
export class HubUnreachable extends Error {
  override name = 'HubUnreachable'
}

const revisionReply = z.looseObject({
  sha: z.string().regex(/^[0-9a-f]{40}$/),
  siblings: z.array(z.looseObject({ rfilename: z.string() })),
})

const escapePath = (path: string) => path.split('/').map(encodeURIComponent).join('/')
const base = ({ endpoint }: Hub, { type, id }: Repo) =>
  `${endpoint}/${type === 'dataset' ? 'datasets/' : ''}${id}`

function headersOf({ token }: Hub): Record<string, string> {
  return { 'user-agent': 'cairn-tune', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
}

/** Sends one request. Throws HubUnreachable for no answer, 5xx or 429. */
export async function ask(hub: Hub, url: string, init: RequestInit = {}): Promise<Response> {
  let reply: Response
  try {
    reply = await hub.fetch(url, {
      ...init,
      headers: { ...headersOf(hub), ...(init.headers as Record<string, string>) },
      signal: hub.signal ?? null,
    })
  } catch (error) {
    if (hub.signal?.aborted) throw error
    throw new HubUnreachable(`cannot reach ${new URL(url).origin} (${describe(error)})`, { cause: error })
  }
  if (reply.status >= 500 || reply.status === 429) {
    await reply.body?.cancel()
    throw new HubUnreachable(`${new URL(url).origin} returned ${reply.status}`)
  }
  return reply
}

/** fetch reports "fetch failed" and has the reason in `cause`. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? describe(error.cause) : error.message || error.name
}

/** Commit and file names of a revision. */
export async function listRevision(
  hub: Hub,
  repo: Repo,
  revision: string,
): Promise<{ commit: string; names: string[] }> {
  const reply = await ask(
    hub,
    `${hub.endpoint}/api/${repo.type}s/${repo.id}/revision/${encodeURIComponent(revision)}`,
  )
  await refuse(hub, repo, revision, reply)
  const parsed = revisionReply.safeParse(await reply.json())
  if (!parsed.success)
    throw new InputError(
      `${hub.endpoint}: invalid hub response about ${repo.id}: ${z.prettifyError(parsed.error)}`,
    )
  const names = parsed.data.siblings.map(({ rfilename }) => rfilename)
  // A name must not lead out of the snapshot.
  const bad = names.find(
    name =>
      name.split('/').some(part => part === '' || part === '.' || part === '..') ||
      name.includes('\\') ||
      name.includes('\0'),
  )
  if (bad !== undefined)
    throw new InputError(
      `${hub.endpoint}: ${repo.id} has a file with the invalid name ${JSON.stringify(bad)}`,
    )
  return { commit: parsed.data.sha, names }
}

async function refuse(hub: Hub, repo: Repo, revision: string, reply: Response): Promise<void> {
  if (reply.ok) return
  await reply.body?.cancel()
  const what = `${repo.type} ${repo.id} (revision ${revision})`
  // The hub answers 401 both for missing and for private repositories.
  if (reply.status === 404) throw new InputError(`${what} does not exist on ${hub.endpoint}`)
  if (reply.status === 401 || reply.status === 403) {
    const advice =
      hub.token === undefined
        ? 'set HF_TOKEN if it is private or gated'
        : 'the token has no access; request it on the page of the repository'
    throw new InputError(
      `${hub.endpoint} rejected ${what} with ${reply.status}: it does not exist or needs access; ${advice}`,
    )
  }
  throw new InputError(`${hub.endpoint} returned ${reply.status} for ${what}`)
}

const MAX_REDIRECTS = 5

/**
 * Hash and size of a file. Large files are stored elsewhere; their hash is in the hub's own answer, so only
 * the hub's own redirects are followed.
 */
export async function statRemote(hub: Hub, repo: Repo, commit: string, name: string): Promise<RemoteFile> {
  const start = `${base(hub, repo)}/resolve/${commit}/${escapePath(name)}`
  let url = start
  for (let i = 0; i < MAX_REDIRECTS; i++) {
    const reply = await ask(hub, url, {
      method: 'HEAD',
      redirect: 'manual',
      headers: { 'accept-encoding': 'identity' },
    })
    const location = reply.headers.get('location')
    const next = location === null ? undefined : new URL(location, url)
    if (
      next !== undefined &&
      next.origin === new URL(url).origin &&
      reply.headers.get('x-linked-etag') === null
    ) {
      url = next.href
      continue
    }
    if (!reply.ok && next === undefined) await refuse(hub, repo, commit, reply)
    const etag = (reply.headers.get('x-linked-etag') ?? reply.headers.get('etag') ?? '')
      .replace(/^W\//, '')
      .replaceAll('"', '')
    const bytes = Number(reply.headers.get('x-linked-size') ?? reply.headers.get('content-length') ?? NaN)
    if (!/^[\w-]{1,128}$/.test(etag) || !Number.isSafeInteger(bytes))
      throw new InputError(`${start}: the response has no hash and size, unlike that of a hub`)
    return { name, etag, bytes, url: start }
  }
  throw new InputError(`${start}: redirected more than ${MAX_REDIRECTS} times`)
}
