/** cairn login: prints a one-time link that logs in to the page. */
import { createLoginLink, loginLinkPath } from '@cairn/api'
import { ConnectionError } from '@cairn/client'
import { EXIT } from '../exit.ts'
import { readGiven } from '../config/read-config.ts'
import { dataDirOf, DEFAULT_HOST, DEFAULT_PORT, findServer } from '../local/data-dir.ts'
import { ensureFirstAdmin } from '../local/local-admin.ts'
import { databaseOf, openStore } from '../local/open-store.ts'
import { type Io, defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'

export const login = defineCommand({
  name: 'login',
  summary: 'Print a one-time login link for the web UI',
  usage: [['login', 'print a link for the first admin of the data directory, or the user of CAIRN_TOKEN']],
  options: CONNECT_OPTIONS,
  async run({ values, positionals }, io) {
    takePositionals(positionals, [])
    const url = await linkFor(values.url, io)
    io.out(values.json ? `${JSON.stringify({ login_url: url })}\n` : `${url}\n`)
    return EXIT.ok.code
  },
})

/** Uses the server if one runs, because it has the store open; otherwise writes to the store directly. */
async function linkFor(url: string | undefined, io: Io): Promise<string> {
  const dataDir = dataDirOf(io.env)
  const isNamed = url !== undefined || Boolean(io.env['CAIRN_URL'])
  const server = findServer(dataDir)
  if (isNamed || server !== null) {
    const { client, baseUrl } = connect({ url }, io)
    try {
      const { id: user_id } = await client.call('me', { signal: io.signal })
      const { login_token } = await client.call('createLoginLink', { params: { user_id }, signal: io.signal })
      const address = isNamed ? baseUrl : (server?.public_url ?? baseUrl)
      return address + loginLinkPath(login_token)
    } catch (error) {
      // A killed server leaves its address file behind, and its process id may have been reused.
      if (isNamed || !(error instanceof ConnectionError)) throw error
    }
  }
  const store = await openStore(databaseOf(io.env), dataDir)
  try {
    const admin = await ensureFirstAdmin(store, dataDir)
    io.note('No server is running. The link works after you start one (cairn serve).')
    const own = `http://${io.env['HOST'] || DEFAULT_HOST}:${io.env['PORT'] || DEFAULT_PORT}`
    return (
      (readGiven(io.env).given.public_url ?? own) +
      loginLinkPath(await createLoginLink(store, admin.id, Date.now()))
    )
  } finally {
    await store.close()
  }
}
