/** The website: a visitor sends a message, and repeats it with the same key until it is answered. */
import type { Channels } from '@cairn/channels'
import { IDENTITY_SECRET, SITE, visit, type Visit } from '../website/visit.ts'
import { CONNECTION_ID, type Shown, type Stage, UNCALLED } from './stage.ts'

export async function website(): Promise<Stage> {
  const pending: { text: string; key: string }[] = []
  let cookie: string | null = null
  let here: { channels: Channels; visit: Visit } | null = null
  let told = ''
  /** In the current process, with the previous cookie. */
  async function visitIn(channels: Channels): Promise<Visit> {
    if (here?.channels === channels) return here.visit
    const begun = await visit(channels, { key: `cairn_wk_${CONNECTION_ID}` }, cookie)
    if (begun.begun.status !== 201) throw new Error(`a visit was answered ${begun.begun.status}`)
    cookie = begun.cookie
    told = String((begun.begun.json['disclosure'] as { text?: string } | null)?.text ?? '')
    here = { channels, visit: begun }
    return begun
  }
  return {
    settings: {
      platform: 'website',
      origins: [SITE],
      identity_secret_env: 'WEB_ID',
      access: 'open',
      agent: 'greeter',
    },
    env: { WEB_ID: IDENTITY_SECRET },
    copies: 'once',
    person: { workspace: null, platform_user_id: 'nobody' },
    say: text => void pending.push({ text, key: `k${text}` }),
    async bring(channels) {
      const visitor = await visitIn(channels)
      for (let next = pending[0]; next !== undefined; next = pending[0]) {
        if ((await visitor.say(next.text, next.key)).status !== 202) return
        pending.shift()
      }
    },
    async shown(channels) {
      const records = await (await visitIn(channels)).stream(seen => seen.at(-1)?.type === 'state')
      return records.flatMap(({ type, id, data }): Shown[] => {
        const key = String(id)
        if (type === 'disclosure.presented') return [{ text: told, key }]
        return type === 'llm.response'
          ? [{ text: String((data['message'] as { content: string }).content), key }]
          : []
      })
    },
    async heard(channels) {
      return JSON.stringify(await (await visitIn(channels)).stream(seen => seen.at(-1)?.type === 'state'))
    },
    ...UNCALLED,
    pressElsewhere: null,
    spoof: null,
    fail: () => undefined,
    tickMs: 0,
    asks: false,
    close: async () => undefined,
  }
}
