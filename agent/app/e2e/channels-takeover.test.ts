/** Two replicas on one Postgres: one polls the platforms. When it is killed, the other takes over. */
import { startFakeDiscord, TOKEN as DISCORD_TOKEN } from '@cairn/channels/test/fake-discord'
import { startFakeTelegram, TOKEN as TELEGRAM_TOKEN } from '@cairn/channels/test/fake-telegram'
import { makePostgresPlace, querySql } from '@cairn/log/test/postgres-place'
import { expect, onTestFinished, test } from 'vitest'
import { makePlace, type Server, startServer } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

const SCENARIO = { rules: [{ when: { user: '^(.*)$' }, answer: { text: 'echo {{user.1}}' } }] }
const POLL = { timeout: PATIENCE_MS }
/** The duration of a lease: hold-lease.ts. */
const TTL_MS = 30_000

type Lease = { holder: string; epoch: number; held_until: number }

/**
 * Promise 15.3: Among several processes one polls and one holds the socket, and another takes over when its
 * lease expires.
 */
test(
  'one of two replicas polls and holds the socket; after it is killed, the other takes over when its lease expires',
  { timeout: 3 * PATIENCE_MS },
  async () => {
    const telegram = await startFakeTelegram()
    onTestFinished(telegram.close)
    const discord = await startFakeDiscord()
    onTestFinished(discord.close)
    const database = await makePostgresPlace()
    onTestFinished(database.remove)
    const open = { access: 'open', agent: 'greeter' }
    const place = makePlace({
      scenario: SCENARIO,
      config: {
        agents: { greeter: {} },
        channels: {
          dc: { platform: 'discord', token_env: 'DC', api_url: discord.url, ...open },
          tg: { platform: 'telegram', token_env: 'TG', api_root: telegram.url, ...open },
        },
      },
    })
    Object.assign(place.env, { DC: DISCORD_TOKEN, TG: TELEGRAM_TOKEN, DATABASE_URL: database.place })
    const leases = async (): Promise<Lease[]> =>
      (
        await querySql(
          database.place,
          'SELECT l.holder, l.epoch, l.held_until FROM channel_leases l JOIN channel_connections c ON ' +
            "c.id = l.connection_id WHERE l.role = 'consume' ORDER BY c.name",
        )
      ).map(({ holder, epoch, held_until }) => ({
        holder: String(holder),
        epoch: Number(epoch),
        held_until: Number(held_until),
      }))
    const heldBy = ({ pid }: Server, all: Lease[]): boolean =>
      all.length === 2 && all.every(({ holder }) => holder.includes(`-${pid}-`))
    const answers = () => [
      discord.messages.map(({ content }) => content),
      telegram.messages.map(({ text }) => text),
    ]
    const say = (text: string): void => {
      discord.say(text)
      telegram.say(text)
    }

    const first = await startServer(place)
    await expect.poll(async () => heldBy(first, await leases()), POLL).toBe(true)
    await expect.poll(() => discord.sockets(), POLL).toBe(1)
    const second = await startServer(place)
    say('one')
    await expect.poll(answers, POLL).toEqual([['echo one'], ['echo one']])
    // The other replica has checked more than once by now and received nothing.
    expect([heldBy(first, await leases()), discord.sockets()]).toEqual([true, 1])

    const killedAt = Date.now()
    await first.kill()
    const before = await leases()
    say('two')
    let after: Lease[] = []
    await expect
      .poll(async () => heldBy(second, (after = await leases())), { ...POLL, interval: 100 })
      .toBe(true)
    const takenAt = Math.max(...after.map(({ held_until }) => held_until)) - TTL_MS
    await expect.poll(answers, POLL).toEqual([
      ['echo one', 'echo two'],
      ['echo one', 'echo two'],
    ])
    console.log(
      `[takeover] killed; leases of ${TTL_MS / 1000} s: taken over after ` +
        `${((takenAt - killedAt) / 1000).toFixed(1)} s, answered after ` +
        `${((Date.now() - killedAt) / 1000).toFixed(1)} s`,
    )
    // The lease of the killed replica expired in time, and it was not claimed before that.
    for (const [at, { held_until, epoch }] of before.entries()) {
      expect(held_until - killedAt).toBeLessThanOrEqual(TTL_MS)
      expect(after[at]!.held_until - TTL_MS).toBeGreaterThanOrEqual(held_until)
      expect(after[at]!.epoch).toBe(epoch + 1)
    }
    const { sessions } = await second.client.call('listSessions', {})
    const said = await Promise.all(
      sessions.map(async ({ id }) =>
        (await readLog(second.client, id)).flatMap(event =>
          event.type === 'user.message' ? [event.data.content] : [],
        ),
      ),
    )
    expect(said).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ])
    expect(first.log() + second.log()).not.toContain('channel is not receiving')
  },
)
