/** Logins at MCP servers: one account per person, sealed, refreshed once, and used nowhere else. */
import { expect, test } from 'vitest'
import type { AskPerson, ToolContext } from '../../src/tools/tool.ts'
import { makeContext } from '../tools/tool-context.ts'
import { fakeClock } from '../turn/fake-clock.ts'
import { memoryAccounts } from './account-store.ts'
import {
  ann,
  bob,
  logIn,
  newSealing,
  ownerOf,
  PUBLIC_URL,
  type Service,
  startGuarded,
  startService,
} from './guarded-server.ts'

const never = new AbortController().signal
const namesOf = ({ mcp }: Service, person = ann): string[] =>
  mcp.tools(ownerOf(person)).map(({ name }) => name)

async function whoami({ mcp }: Service, person = ann, context: Partial<ToolContext> = {}): Promise<string> {
  const tool = mcp.tools(ownerOf(person)).find(({ name }) => name === 'mcp__x__whoami')
  if (tool === undefined) throw new Error('the tool is not offered')
  return String((await tool.run({}, makeContext(context))).content)
}

/** On a busy machine the first attempt may outlast the time that a turn waits for it. */
async function connected(service: Service, person = ann): Promise<void> {
  await logIn(service, person)
  await prepared(service, 'mcp__x__whoami', person)
}

const prepared = (service: Service, name: string, person = ann): Promise<void> =>
  expect
    .poll(async () => {
      await service.mcp.prepare(ownerOf(person), never)
      return namesOf(service, person)
    })
    .toEqual([name])

/** Promise 10.13: A person's account at an MCP server serves that person only. */
test("a server is left out with its link until the person logs in, and then has that person's tools only", async () => {
  const guarded = await startGuarded()
  const service = startService(guarded)
  await prepared(service, 'mcp__x__authorize')
  const link = `${PUBLIC_URL}/v1/mcp/connect/x`
  expect(service.mcp.tools(ownerOf(ann))[0]?.description).toContain(`has not authorised it: ${link}`)
  expect(await service.mcp.find('mcp__x__whoami', never, ownerOf(ann))).toEqual({
    absence: `MCP server 'x' needs the user's authorization (${link})`,
  })
  await connected(service)
  expect(namesOf(service)).toEqual(['mcp__x__whoami'])
  const token = /you are (.*)/.exec(await whoami(service))?.[1] ?? ''
  expect(guarded.valid.has(token)).toBe(true)

  await prepared(service, 'mcp__x__authorize', bob)
  expect(service.mcp.tools()).toEqual([])
  expect(await service.mcp.find('mcp__x__whoami', never, { org_id: 'org', user_id: null })).toEqual({
    absence: expect.stringMatching(/own account, and this turn has no person with one$/),
  })
  await connected(service, bob)
  expect(await whoami(service, bob)).not.toContain(token)
  expect(await whoami(service)).toContain(token)
})

test('the authorise tool asks the person with the link, as an action that the turn waits for', async () => {
  const service = startService(await startGuarded())
  await prepared(service, 'mcp__x__authorize')
  const outcome = await service.mcp.tools(ownerOf(ann))[0]?.run({}, makeContext())
  expect(outcome?.events?.[0]).toMatchObject({
    type: 'inbox.action_required',
    data: { action_type: 'connect_account', target: `${PUBLIC_URL}/v1/mcp/connect/x` },
  })
})

/** Promise 11.5: Tokens of MCP servers are sealed in the store and known to the redactor. */
test('the store has no token, code or verifier in clear, and the redactor knows every token', async () => {
  const guarded = await startGuarded()
  const service = startService(guarded)
  await connected(service)
  await whoami(service)
  const [token = ''] = guarded.valid
  const stored = JSON.stringify(service.store.rows())
  expect(stored).not.toContain(token)
  expect(stored).not.toContain('refresh-')
  expect(service.learned).toContain(token)
  expect(service.learned.some(secret => secret.startsWith('refresh-'))).toBe(true)
  expect(service.logged.join('\n')).not.toContain(token)
})

test('the request has PKCE with S256 and the resource, and the same registration serves the next login', async () => {
  const guarded = await startGuarded()
  const service = startService(guarded)
  await logIn(service, ann)
  const [first] = guarded.authorizations
  expect(Object.fromEntries(first ?? [])).toMatchObject({
    code_challenge_method: 'S256',
    resource: guarded.url,
    client_id: 'registered',
    redirect_uri: `${PUBLIC_URL}/v1/mcp/callback`,
  })
  expect(guarded.forms[0]).toMatchObject({ resource: guarded.url, grant_type: 'authorization_code' })
  await logIn(service, ann)
  expect(guarded.asked.filter(asked => asked === 'POST /register')).toHaveLength(1)
})

test('an expired token is refreshed once for many requests of two processes', async () => {
  const guarded = await startGuarded()
  const clock = fakeClock()
  const shared = { store: memoryAccounts(clock.now), sealing: newSealing(), clock }
  const [one, two] = [startService(guarded, shared), startService(guarded, shared)]
  await logIn(one, ann)
  const auths = [one, one, two].map(({ logins }) => logins.authFor('x', ownerOf(ann)))
  const before = await auths[0]?.token()
  clock.advance(3_600_000)
  const running = Promise.all(auths.flatMap(auth => Array.from({ length: 20 }, () => auth.token())))
  // Those that wait for another process look again after a while.
  const advancing = setInterval(() => clock.advance(200), 5)
  const tokens = new Set(await running)
  clearInterval(advancing)
  expect(tokens.size).toBe(1)
  expect(tokens.has(before)).toBe(false)
  expect(guarded.forms.filter(form => form['grant_type'] === 'refresh_token')).toHaveLength(1)
})

test('a refused token is refreshed for the running call, and a revoked account asks again', async () => {
  const guarded = await startGuarded()
  const service = startService(guarded)
  await connected(service)
  guarded.valid.clear()
  expect(await whoami(service)).toMatch(/^you are access-/)
  guarded.valid.clear()
  guarded.rules.token = (form, response) => {
    if (form['grant_type'] !== 'refresh_token') return false
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
    return true
  }
  await expect(whoami(service)).rejects.toThrow(`${PUBLIC_URL}/v1/mcp/connect/x`)
  expect(await service.logins.isConnected('x', ownerOf(ann))).toBe(false)
})

test('a call that needs more permissions asks the person, adds them to the granted ones, and goes on', async () => {
  const guarded = await startGuarded()
  const service = startService(guarded)
  // The server says at the first request which permission it needs.
  await prepared(service, 'mcp__x__authorize')
  await connected(service)
  guarded.rules.needed = 'write'
  const asked: string[] = []
  const ask: AskPerson = async ({ questions }) => {
    asked.push(...questions.map(({ prompt }) => prompt))
    await logIn(service, ann)
    return questions.map(({ prompt }) => ({ question: prompt, answer: 'Done' }))
  }
  expect(await whoami(service, ann, { ask })).toMatch(/^you are access-/)
  expect(asked).toEqual([expect.stringContaining(`${PUBLIC_URL}/v1/mcp/connect/x`)])
  expect(guarded.authorizations.map(query => query.get('scope'))).toEqual(['read', 'read write'])
  // A person who declines ends the call, not the service.
  guarded.rules.needed = 'admin'
  const decline: AskPerson = ({ questions }) =>
    Promise.resolve(questions.map(({ prompt }) => ({ question: prompt, answer: 'Decline' })))
  await expect(whoami(service, ann, { ask: decline })).rejects.toThrow("needs the user's authorization")
})

test('a login of the service itself gets its token without a person, for all connections', async () => {
  const guarded = await startGuarded()
  const oauth = {
    grant: 'client_credentials',
    client_id: 'robot',
    client_secret_env: 'SECRET',
    per: 'shared',
  }
  const service = startService(guarded, { oauth, env: { SECRET: 's3cret' } })
  await service.mcp.ready
  expect(namesOf(service)).toEqual(['mcp__x__whoami'])
  expect(await whoami(service)).toMatch(/^you are access-/)
  expect(guarded.forms).toEqual([
    expect.objectContaining({ grant_type: 'client_credentials', client_id: 'robot' }),
  ])
  expect(service.store.rows()).toEqual([])
})

test('a shared account is connected by an administrator only, and serves the organisation', async () => {
  const service = startService(await startGuarded(), { oauth: { per: 'shared' } })
  await expect(service.logins.begin('x', ann)).rejects.toMatchObject({ code: 'forbidden' })
  await connected(service, { ...ann, admin: true })
  await prepared(service, 'mcp__x__whoami', bob)
  expect(await whoami(service, bob)).toMatch(/^you are access-/)
  await service.mcp.prepare({ org_id: 'other', user_id: 'eve' }, never)
  expect(service.mcp.tools({ org_id: 'other', user_id: 'eve' }).map(({ name }) => name)).toEqual([
    'mcp__x__authorize',
  ])
})
