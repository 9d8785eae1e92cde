/** Live views end with their login or account, and return control of the browser (contract 5.7). */
import { randomUUID } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { createLoginLink } from '../src/index.ts'
import {
  arrived,
  closeCodeIn,
  closeFrame,
  fakeBrowsers,
  frame,
  openLiveView,
  openRaw,
  type RawConnection,
  ticketOf,
  upgradeRequest,
} from './live-views.ts'
import { startService } from './service.ts'

const browsers = fakeBrowsers()
const service = await startService({
  browsers: () => browsers,
  // Only a revocation by this process ends a view before an interval has passed.
  tuning: { standingMs: 20, pingMs: 3_600_000 },
  config: { limits: { streams_per_principal: 3 } },
})
afterAll(() => service[Symbol.asyncDispose]())

type Person = { id: string; token: string }

async function logIn(id: string): Promise<Person> {
  const link_token = await createLoginLink(service.store, id, service.now())
  const { json } = await service.call('/v1/auth/login', { method: 'POST', token: null, body: { link_token } })
  return { id, token: json.access_token }
}
const newPerson = async (): Promise<Person> => logIn((await service.addUser()).user.id)

/** Creates a session of the person, whose browser they watch and control. */
async function drive(person: Person): Promise<{ session: string; view: RawConnection }> {
  const session = await service.newSession(person.token)
  browsers.sessions.add(session)
  const view = await openLiveView(service, session, person.token)
  const body = { action: 'acquire' }
  const path = `/v1/sessions/${session}/browser/control`
  expect(await service.call(path, { method: 'POST', token: person.token, body })).toMatchObject({
    status: 200,
  })
  return { session, view }
}

const logOut = (token: string) => service.call('/v1/auth/logout', { method: 'POST', token })
const isClosed = (bytes: Buffer): boolean => closeCodeIn(bytes) !== null

const ENDINGS: Record<string, (person: Person) => unknown> = {
  'an administrator disables the account': ({ id }) =>
    service.mintAdmin().then(token => service.call(`/v1/admin/users/${id}`, { method: 'DELETE', token })),
  'the person logs out': ({ token }) => logOut(token),
  'another process disables the account': ({ id }) => service.store.accounts.disableUser(id, service.now()),
  'another process ends the logins': ({ id }) =>
    service.store.accounts.revokeLogins(id, service.now(), randomUUID()),
  'the login expires': () => service.advance(8 * 24 * 3_600_000),
}

/** Promise 5.7: A live view ends with its login or account and returns control of the browser. */
test.each(Object.entries(ENDINGS))(
  'when %s, the live view closes, receives nothing more, and returns control',
  async (_what, end) => {
    const person = await newPerson()
    const { session, view } = await drive(person)
    expect(browsers.holders.get(session)).toBe(person.id)
    await end(person)
    await arrived(view, isClosed)
    expect(closeCodeIn(view.received())).toBe(4403)
    expect(browsers.holders.get(session)).toBeUndefined()
    // The server has closed its half and still reads; what arrives now must not reach the browser.
    const late = `{"t":"go","url":"http://${session}.test/"}`
    view.socket.write(Buffer.concat([frame(late), closeFrame(4403)]))
    await view.closed
    expect(browsers.received).not.toContain(late)
  },
)

test('a ticket is invalid after its login has ended', async () => {
  const person = await newPerson()
  const session = await service.newSession(person.token)
  browsers.sessions.add(session)
  const ticket = await ticketOf(service, session, person.token)
  await logOut(person.token)
  const raw = await openRaw(service.port)
  raw.socket.write(upgradeRequest(session, ticket))
  await raw.closed
  expect(raw.received().toString()).toMatch(/^HTTP\/1.1 401 /)
})

test('a person with a second login on the view keeps control when the first login ends', async () => {
  const first = await newPerson()
  const { session, view } = await drive(first)
  const second = await openLiveView(service, session, (await logIn(first.id)).token)
  await logOut(first.token)
  await arrived(view, isClosed)
  expect(browsers.holders.get(session)).toBe(first.id)
  view.socket.destroy()
  second.socket.destroy()
})

test('live views count against the stream limit of a person', async () => {
  const person = await newPerson()
  const { session, view } = await drive(person)
  const others = [
    await openLiveView(service, session, person.token),
    await openLiveView(service, session, person.token),
  ]
  const refused = await openRaw(service.port)
  refused.socket.write(upgradeRequest(session, await ticketOf(service, session, person.token)))
  await refused.closed
  expect(refused.received().toString()).toMatch(/^HTTP\/1.1 429 /)
  for (const { socket } of [view, ...others]) socket.destroy()
})

test('a live view ends if its client does not answer a ping', async () => {
  await using other = await startService({ browsers: () => browsers, tuning: { pingMs: 20 } })
  const session = await other.newSession()
  browsers.sessions.add(session)
  const view = await openLiveView(other, session)
  await view.closed
  expect(view.received().includes(Buffer.from([0x89, 0]))).toBe(true)
})
