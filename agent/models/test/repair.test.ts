/**
 * Whatever is in a log, the composed request satisfies the profile of its server; and a server of unknown kind
 * is understood from its refusals. CAIRN_CONVERSATIONS sets the number of conversations.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createOpenAI } from '../src/openai.ts'
import { openAIBody } from '../src/openai-request.ts'
import { PROFILES, type ServerProfile } from '../src/servers/profiles.ts'
import { MAX_LESSONS } from '../src/call-watched.ts'
import type { Fetch } from '../src/plain-fetch.ts'
import { oddRequest } from './odd-conversations.ts'
import { rejectionOf, STRICT_SERVERS, type StrictServer } from './strict-servers.ts'
import { outcome } from './wire-server.ts'

const RUNS = Number(process.env['CAIRN_CONVERSATIONS'] ?? 60)
const seeded = (numRuns: number) => ({ numRuns, seed: 38 })

const profileOf = (name: string, { facts }: StrictServer): ServerProfile => ({
  ...((PROFILES as Record<string, ServerProfile>)[name] ?? PROFILES.compatible),
  ...facts,
})

test.each(Object.entries(STRICT_SERVERS))('every conversation is accepted by %s', (name, server) => {
  const profile = profileOf(name, server)
  let rejections = 0
  fc.assert(
    fc.property(oddRequest, request => {
      const body = JSON.parse(openAIBody(request, profile)) as Record<string, unknown>
      const rejection = rejectionOf(server, body)
      if (rejection) rejections++
      expect(rejection).toBeNull()
    }),
    seeded(RUNS),
  )
  if (RUNS > 1000) console.log(`${name}: ${RUNS} conversations, ${rejections} refusals`)
})

/** A server that accepts what its checks accept, and then answers. */
function strictFetch(server: StrictServer): { fetch: Fetch; sent: Record<string, unknown>[] } {
  const sent: Record<string, unknown>[] = []
  return {
    sent,
    fetch: (_url, init) => {
      const body = JSON.parse(String(init?.body)) as Record<string, unknown>
      sent.push(body)
      const rejection = rejectionOf(server, body)
      return Promise.resolve(
        rejection === null
          ? Response.json({ choices: [{ message: { content: 'ok' }, finish_reason: 'stop' }] })
          : Response.json(rejection.body, { status: rejection.status }),
      )
    },
  }
}

test.each(Object.entries(STRICT_SERVERS))('%s is understood from its refusals alone', async (_, server) => {
  await fc.assert(
    fc.asyncProperty(fc.array(oddRequest, { minLength: 1, maxLength: 3 }), async requests => {
      const { fetch, sent } = strictFetch(server)
      const provider = createOpenAI({ name: 'o', baseUrl: 'http://model.test/v1', fetch })
      for (const request of requests) {
        for (let attempt = 0; ; attempt++) {
          const got = await outcome(provider, request)
          if ('answer' in got) break
          // Every refusal teaches something, so none is repeated.
          expect(got.message).toContain('learned')
          expect(attempt).toBeLessThan(MAX_LESSONS)
        }
      }
      const before = sent.length
      for (const request of requests) expect(await outcome(provider, request)).toHaveProperty('answer')
      // What was learned is remembered: nothing is refused a second time.
      expect(sent.length - before).toBe(requests.length)
    }),
    seeded(Math.ceil(RUNS / 10)),
  )
})
