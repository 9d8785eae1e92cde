/** cairn token: credentials for programs and for curl. */
import { randomUUID } from 'node:crypto'
import { createServiceAccount } from '@cairn/api'
import { ConnectionError } from '@cairn/client'
import { dataDirOf, findServer } from '../local/data-dir.ts'
import { ensureFirstAdmin, hasLocalAdmin, localToken } from '../local/local-admin.ts'
import { databaseOf, openStore } from '../local/open-store.ts'
import { type Io, defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { EXIT, UsageError } from '../exit.ts'

const DAY_MS = 24 * 60 * 60 * 1000

export const token = defineCommand({
  name: 'token',
  summary: 'Print an access token',
  usage: [
    ['token user', 'user token of the first admin, valid for 30 minutes; requires the data directory'],
    ['token service-account NAME', 'create a service account; its token is shown only once'],
    ['  --scope own|org', 'access to the sessions it created (default), or to the whole organisation'],
    ['  --expires-in-days N', 'lifetime of the token; default: never expires'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    scope: { type: 'string', default: 'own' },
    'expires-in-days': { type: 'string' },
  },
  async run({ values, positionals: [kind, ...rest] }, io) {
    if (kind === 'user') {
      takePositionals(rest, [])
      const access_token = await userToken(io)
      io.out(
        values.json
          ? `${JSON.stringify({ access_token, token_type: 'bearer', expires_in: 1800 })}\n`
          : `${access_token}\n`,
      )
      return EXIT.ok.code
    }
    if (kind !== 'service-account')
      throw new UsageError(
        `Expected "user" or "service-account", got ${kind === undefined ? 'nothing' : `"${kind}"`}`,
      )
    const [name] = takePositionals(rest, ['service account name'])
    const { scope } = values
    if (scope !== 'own' && scope !== 'org')
      throw new UsageError(`Invalid --scope "${scope}": must be own or org`)
    const days = values['expires-in-days'] === undefined ? undefined : Number(values['expires-in-days'])
    if (days !== undefined && !(days > 0))
      throw new UsageError(
        `Invalid --expires-in-days "${values['expires-in-days']}": must be a positive number`,
      )
    const made = await makeServiceAccount(io, values.url, name, scope, days)
    io.out(values.json ? `${JSON.stringify(made)}\n` : `${made.token}\n`)
    return EXIT.ok.code
  },
})

async function userToken({ env }: Io): Promise<string> {
  const dataDir = dataDirOf(env)
  if (!hasLocalAdmin(dataDir)) {
    const store = await openStore(databaseOf(env), dataDir)
    try {
      await ensureFirstAdmin(store, dataDir)
    } finally {
      await store.close()
    }
  }
  return localToken(dataDir)
}

type Made = { id: string; name: string; scope: string; token: string; expires_at: string | null }

/** Uses the server if one runs, because it has the store open; otherwise writes to the store directly. */
async function makeServiceAccount(
  io: Io,
  url: string | undefined,
  name: string,
  scope: 'own' | 'org',
  days: number | undefined,
): Promise<Made> {
  const dataDir = dataDirOf(io.env)
  const isNamed = url !== undefined || Boolean(io.env['CAIRN_URL'])
  if (isNamed || findServer(dataDir) !== null) {
    const { client } = connect({ url }, io)
    try {
      return await client.call('createServiceAccount', {
        body: { name, scope, ...(days === undefined ? {} : { expires_in_days: days }) },
        idempotencyKey: randomUUID(),
      })
    } catch (error) {
      // A killed server leaves its address file behind, and its process id may have been reused.
      if (isNamed || !(error instanceof ConnectionError)) throw error
    }
  }
  const store = await openStore(databaseOf(io.env), dataDir)
  try {
    const admin = await ensureFirstAdmin(store, dataDir)
    const expires_at = days === undefined ? null : Date.now() + days * DAY_MS
    const { account, token } = await createServiceAccount(store, {
      id: randomUUID(),
      org_id: admin.org_id,
      name,
      scope,
      created_by: admin.id,
      expires_at,
    })
    return {
      id: account.id,
      name,
      scope,
      token,
      expires_at: expires_at === null ? null : new Date(expires_at).toISOString(),
    }
  } finally {
    await store.close()
  }
}
