/**
 * A channel of the real server: acknowledged messages are answered although the server is killed meanwhile.
 */
import { startCallback } from '@cairn/channels/test/callback'
import { SECRET, signed } from '@cairn/channels/test/signed'
import { expect, onTestFinished, test } from 'vitest'
import { makePlace, type Server, startServer } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

const SCENARIO = { rules: [{ name: 'echo', when: { user: '^(.*)$' }, answer: { text: 'echo {{user.1}}' } }] }

async function pathOf({ client }: Server): Promise<string> {
  const { channels } = await client.call('listChannels', {})
  return channels[0]?.webhook_path ?? 'none'
}
async function send({ url }: Server, path: string, text: string, secret = SECRET): Promise<number> {
  const { headers, raw } = signed({ text, secret })
  return (await fetch(url + path, { method: 'POST', headers, body: Buffer.from(raw) })).status
}

/** Promise 15.3, 15.4: A restarted server answers all acknowledged channel messages once and in order. */
test(
  'the next server answers messages that a killed server had acknowledged, in order and once',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const callback = await startCallback(SECRET)
    onTestFinished(callback.close)
    const hook = { platform: 'webhook', secret_env: 'HOOK', callback_url: callback.url, access: 'open' }
    const place = makePlace({
      scenario: SCENARIO,
      config: {
        agents: { greeter: {} },
        disclosure: { level: 'full', operator: 'Example Ltd' },
        channels: { hook: { ...hook, agent: 'greeter' } },
      },
    })
    place.env['HOOK'] = SECRET
    const first = await startServer(place)
    const path = await pathOf(first)
    expect(await send(first, path, 'forged', `whsec_${Buffer.alloc(32, 1).toString('base64')}`)).toBe(401)
    expect(await send(first, '/v1/channels/nobody/webhook', 'lost')).toBe(404)
    const texts = Array.from({ length: 5 }, (_, at) => `m${at}`)
    for (const text of texts) expect(await send(first, path, text)).toBe(200)
    await first.kill()

    const second = await startServer(place)
    expect(await pathOf(second)).toBe(path)
    await expect.poll(() => callback.seen().at(-1)?.text, { timeout: PATIENCE_MS }).toContain('m4')
    const [told, ...answers] = callback.seen()
    expect(told).toMatchObject({ type: 'disclosure', text: expect.stringContaining('run by Example Ltd') })
    expect(answers.every(({ type }) => type === 'answer')).toBe(true)

    const { sessions } = await second.client.call('listSessions', {})
    expect(sessions).toMatchObject([{ channel: 'webhook', agent: 'greeter' }])
    const log = await readLog(second.client, sessions[0]!.id)
    const said = log.filter(({ type }) => type === 'user.message')
    expect(said.map(({ data }) => (data as { content: string }).content)).toEqual(texts)
    expect(log.filter(({ type }) => type === 'disclosure.presented')).toHaveLength(1)
    const kept = JSON.stringify(log) + first.log() + second.log()
    expect(kept).not.toContain(SECRET.slice('whsec_'.length))
  },
)
